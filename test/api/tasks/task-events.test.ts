/** `/v1/tasks/{id}/events`: a task's states as server-sent events. Contract 2 and 7. */

import { exports } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { taskAnswer } from "../../../src/api/schema/tasks.ts";
import { conform } from "../../support/conform.ts";
import { bindings, loseTheObject, spyOn } from "../../support/faults.ts";
import { type Account, call, complete, deliver, holdTime, newAccount, pass, submit, unique, newTask } from "../../support/gateway.ts";

holdTime();

const images = "/v1/images/generations";
const image = (prompt = unique()) => ({ model: "imgA-4", prompt });

interface Event {
  id?: string;
  event?: string;
  data?: string;
  retry?: string;
  comment?: string;
}

async function open(account: Account, id: string, headers: Record<string, string> = {}): Promise<Response> {
  const url = `https://gateway.example/v1/tasks/${id}/events`;
  const response = await exports.default.fetch(url, { headers: { authorization: `Bearer ${account.key}`, ...headers } });
  conform("GET", url, { status: response.status, headers: response.headers });
  return response;
}

/** The events of a stream as they arrive, each as a record of its fields. */
async function* read(response: Response): AsyncGenerator<Event> {
  let rest = "";
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + chunk).split("\n\n");
    rest = blocks.pop()!;
    for (const block of blocks)
      yield Object.fromEntries(
        block.split("\n").map((line) => {
          const colon = line.indexOf(":");
          return [line.slice(0, colon) || "comment", line.slice(colon + 1).trim()];
        }),
      );
  }
  expect(rest).toBe("");
}

async function all(response: Response): Promise<Event[]> {
  const events: Event[] = [];
  for await (const event of read(response)) events.push(event);
  return events;
}

/** Waits advance the held time; the nth wait runs the nth action. */
function whileWaiting(turns: (() => unknown)[]): number[] {
  const waits: number[] = [];
  vi.spyOn(Object.getPrototypeOf(scheduler) as Scheduler, "wait").mockImplementation(async (ms, options) => {
    // Leaves shorter timeouts alone: they belong to other code.
    if (options?.signal) return new Promise(() => undefined);
    waits.push(ms);
    vi.setSystemTime(Date.now() + ms);
    await turns[waits.length - 1]?.();
  });
  return waits;
}

test("every state is one event with the data of the status query, from the current to the final one", async () => {
  const { account, id } = await newTask({ polls: [{ progress: 40 }] });
  const waits = whileWaiting([() => deliver(id), undefined as never, () => pass(id, 2), () => pass(id, 2), () => deliver(id)]);
  const response = await open(account, id);
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  expect(response.headers.get("cache-control")).toContain("no-store");
  expect(response.headers.get("x-request-id")).not.toBeNull();
  const [hello, ...events] = await all(response);
  expect(hello).toEqual({ retry: "3000" });
  expect(events.every(({ event }) => event === "task")).toBe(true);
  const states = events.map(({ data }) => taskAnswer.shape.data.parse(JSON.parse(data!)));
  expect(states.map(({ status, progress }) => [status, progress])).toEqual([
    ["queued", 0],
    ["in_progress", 0],
    ["in_progress", 40],
    ["completed", 100],
  ]);
  expect(new Set(events.map((event) => event.id)).size).toBe(4);
  expect(states.at(-1)).toEqual((await call(`/v1/tasks/${id}`, { key: account.key })).body.data);
  expect(waits).toEqual([1_000, 1_000, 1_000, 1_000, 1_000]);
});

test("Last-Event-ID skips events already seen; after the final event there are no more", async () => {
  const { account, id } = await newTask();
  const reader = read(await open(account, id));
  await reader.next();
  const seen = (await reader.next()).value as Event;
  await reader.return(undefined);
  whileWaiting([() => call(`/v1/tasks/${id}/cancel`, { key: account.key, method: "POST" })]);
  const [hello, ...events] = await all(await open(account, id, { "last-event-id": seen.id! }));
  expect(hello).toEqual({ retry: "3000" });
  expect(events.map(({ data }) => (JSON.parse(data!) as { status: string }).status)).toEqual(["failed"]);
  const again = await open(account, id, { "last-event-id": events[0]!.id! });
  expect([again.status, await again.text()]).toEqual([204, ""]);
});

test("a final task is one event, then the end; an unknown Last-Event-ID skips nothing", async () => {
  const account = await newAccount();
  const id = await complete(account, images, image());
  for (const headers of [{} as Record<string, string>, { "last-event-id": "something else" }]) {
    const events = await all(await open(account, id, headers));
    expect(events).toHaveLength(2);
    expect(JSON.parse(events[1]!.data!)).toMatchObject({ status: "completed" });
  }
});

test("without changes a comment is sent every 15 seconds, and the object is polled less often after a minute", async () => {
  const { account, id } = await newTask();
  const waits = whileWaiting([]);
  const response = await open(account, id);
  const times: number[] = [];
  const began = Date.now();
  for await (const event of read(response)) {
    if (event.comment !== undefined) times.push(Date.now() - began);
    if (times.length === 6) break;
  }
  // The reader may be one iteration behind.
  const gaps = times.map((time, at) => time - (times[at - 1] ?? 0));
  expect(gaps.every((gap) => gap >= 15_000 && gap <= 18_000)).toBe(true);
  expect(waits.slice(0, 60).every((ms) => ms === 1_000) && waits.slice(61).every((ms) => ms === 2_000)).toBe(true);
});

test("a comment is sent every 15 seconds also while the progress changes", async () => {
  const { account, id } = await newTask({ polls: Array.from({ length: 40 }, (_, at) => ({ progress: at + 1 })) });
  await deliver(id);
  whileWaiting(Array.from({ length: 40 }, () => () => pass(id, 1)));
  const began = Date.now();
  let changedAt = began;
  for await (const { comment, event } of read(await open(account, id))) {
    if (comment !== undefined) break;
    if (event) changedAt = Date.now();
  }
  expect(Date.now() - began).toBeLessThan(30_000);
  expect(Date.now() - changedAt).toBeLessThan(10_000);
});

test("a stream ends after fifteen minutes, within the subrequests of one invocation; a client that reconnects misses nothing", async () => {
  const { account, id } = await newTask();
  const stubs = spyOn(bindings.namespace(), "get").mockClear();
  whileWaiting([]);
  const events = await all(await open(account, id));
  expect(stubs.mock.calls.length).toBeLessThan(900);
  const last = events.findLast((event) => event.id !== undefined)!;
  whileWaiting([() => call(`/v1/tasks/${id}/cancel`, { key: account.key, method: "POST" })]);
  const more = await all(await open(account, id, { "last-event-id": last.id! }));
  expect(more.filter(({ event }) => event === "task")).toHaveLength(1);
});

test("the object is polled only while the client reads, and an object that does not answer ends the stream", async () => {
  const { account, id } = await newTask();
  const asked = spyOn(bindings.namespace(), "get").mockClear();
  const waits = whileWaiting([]);
  const head = await exports.default.fetch(`https://gateway.example/v1/tasks/${id}/events`, {
    method: "HEAD",
    headers: { authorization: `Bearer ${account.key}` },
  });
  expect(head.status).toBe(200);
  expect(asked).toHaveBeenCalledTimes(1);
  const reader = read(await open(account, id));
  await reader.next();
  await reader.return(undefined);
  const before = waits.length;
  await scheduler.wait(0);
  expect(waits.length).toBeLessThanOrEqual(before + 1);
  const broken = await open(account, id);
  loseTheObject();
  expect((await all(broken)).map(({ event }) => event)).toEqual([undefined, "task"]);
});

test("another account's task, an unknown task and a missing key are answered as JSON", async () => {
  const [account, stranger] = [await newAccount(), await newAccount()];
  const id = await submit(account, images, image());
  for (const [path, key, status] of [
    [id, stranger.key, 404],
    ["task_x", account.key, 404],
    [id, "", 401],
  ] as const) {
    const answer = await call(`/v1/tasks/${path}/events`, { key });
    expect([answer.status, answer.body.code]).toEqual([status, status]);
  }
  expect((await call(`/v1/tasks/${id}/events`, { key: account.key, method: "POST" })).headers.get("allow")).toBe("GET, HEAD");
});

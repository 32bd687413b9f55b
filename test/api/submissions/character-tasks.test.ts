/** Character creation: from a video of the account, or from the caller's URL. Interface 2.4 and 4.3 mode B; contract 1 and 2. */

import { expect, test, vi } from "vitest";
import {
  type Account,
  readBalance,
  call,
  complete,
  deliver,
  finish,
  holdTime,
  newAccount,
  script,
  submit,
  unique,
} from "../../support/gateway.ts";

holdTime();

const videos = "/v1/videos/generations";
const videoUrl = "https://films.example/someone.mp4";
const byUrl = (timestamps = "0,1") => ({ model: "vidA-2", url: videoUrl, timestamps });
const look = async (account: Account, id: string) => (await call(`/v1/characters_tasks/${id}`, { key: account.key })).body;
const makeVideo = (account: Account, more: object = {}) => complete(account, videos, { model: "vidA-2", prompt: unique(), ...more });

test("a character from an earlier task: its status query has every field in each state", async () => {
  const account = await newAccount();
  const source = await makeVideo(account, { metadata: { private: true } });
  const { status, body: record } = await call(videos, {
    key: account.key,
    body: { model: "vidA-2-pro", from_task: source, timestamps: "0.5,1.75" },
  });
  expect(status).toBe(200);
  const created_at = Math.floor(Date.now() / 1000);
  const metadata = { kind: "character", from_task: source, timestamps: "0.5,1.75", reserved: 0.05 };
  expect(record).toEqual({
    id: expect.any(String),
    object: "generation.task",
    model: "vidA-2-pro",
    status: "queued",
    progress: 0,
    created_at,
    metadata,
  });
  expect(await look(account, record.id)).toEqual(record);
  await deliver(record.id);
  expect(await look(account, record.id)).toEqual({ ...record, status: "in_progress", progress: expect.any(Number) });
  const generic = (await finish(account, record.id)).body.data;
  const completed_at = Math.floor(Date.now() / 1000);
  const done = await look(account, record.id);
  const [one] = done.result.data.characters;
  expect(done).toEqual({
    ...record,
    status: "completed",
    progress: 100,
    completed_at,
    result: {
      type: "character",
      data: {
        characters: [
          {
            id: expect.stringMatching(/^ch_.+/),
            display_name: "Amber Fox",
            profile_picture_url: expect.any(String),
            username: "amber.fox",
          },
        ],
      },
    },
  });
  expect(generic).toEqual({ ...done, expires_at: completed_at + 86_400, cost: { reserved: 0.05, charged: 0.05, returned: 0 } });
  expect((await call(one.profile_picture_url)).headers.get("content-type")).toBe("image/png");
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 1.05 });
});

test("from the caller's URL, which is fetched without headers that identify the gateway", async () => {
  const fetched = vi.spyOn(globalThis, "fetch").mockImplementation(async () => new Response("a video, says its host"));
  const account = await newAccount();
  const id = await submit(account, videos, byUrl());
  expect((await finish(account, id)).body.data).toMatchObject({
    status: "completed",
    metadata: { kind: "character", url: videoUrl, timestamps: "0,1" },
  });
  expect(fetched.mock.calls.map(([url]) => url)).toEqual([videoUrl]);
  const headers = new Headers(fetched.mock.calls[0]![1]!.headers);
  expect([headers.get("authorization"), headers.get("cookie"), headers.get("referer")]).toEqual([null, null, null]);
});

test.each([
  ["404", () => new Response("", { status: 404 })],
  ["announced as larger than a video may be", () => new Response("x", { headers: { "content-length": String(600 * 1024 * 1024) } })],
  ["a redirect to an address that callers may not give", () => Response.redirect("ftp://films.example/someone.mp4")],
])("an unusable URL fails the task as invalid_input at once and costs nothing: %s", async (_, answer) => {
  vi.spyOn(globalThis, "fetch").mockImplementation(async () => answer());
  const account = await newAccount();
  const id = await submit(account, videos, byUrl());
  await deliver(id);
  expect(await look(account, id)).toMatchObject({
    status: "failed",
    error: { code: "invalid_input", message: "An image or video of the request could not be used." },
  });
  expect(await look(account, id)).not.toHaveProperty("result");
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("a video that exceeds the limit while it is read fails the task as invalid_input", async () => {
  let sent = 0;
  const chunk = new Uint8Array(1024 * 1024);
  const endless = () =>
    new ReadableStream<Uint8Array>({
      pull(controller) {
        if (sent++ < 100) controller.enqueue(chunk);
        else controller.close();
      },
    });
  vi.spyOn(globalThis, "fetch").mockImplementation(async () => new Response(endless()));
  const account = await newAccount();
  const id = await submit(account, videos, byUrl());
  await deliver(id);
  expect(await look(account, id)).toMatchObject({ status: "failed", error: { code: "invalid_input" } });
});

test.each([
  ["unreachable", () => Promise.reject(new TypeError("connection refused"))],
  ["503", () => Promise.resolve(new Response("", { status: 503 }))],
  [
    "too slow",
    (signal?: AbortSignal | null) => new Promise<Response>((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason))),
  ],
  [
    "breaking off half-way",
    () => {
      const chunks = ["half a video"];
      const body = new ReadableStream<Uint8Array>({
        pull(controller) {
          const chunk = chunks.pop();
          if (chunk === undefined) controller.error(new TypeError("connection reset"));
          else controller.enqueue(new TextEncoder().encode(chunk));
        },
      });
      return Promise.resolve(new Response(body));
    },
  ],
])("a host that is %s for a moment is retried", async (_, answer) => {
  const original = setTimeout;
  // The first is the host's time; the makers' answers have as long.
  let isHosts = true;
  vi.spyOn(globalThis, "setTimeout").mockImplementation(((run: () => void, ms?: number) => {
    const isOver = ms === 30_000 && isHosts;
    isHosts &&= !isOver;
    return original(run, isOver ? 0 : ms);
  }) as never);
  const fetched = vi.spyOn(globalThis, "fetch").mockImplementation(async () => new Response("a video"));
  fetched.mockImplementationOnce((_url, init) => answer(init?.signal));
  const account = await newAccount();
  const id = await submit(account, videos, byUrl());
  await deliver(id);
  expect((await look(account, id)).status).toBe("in_progress");
  expect((await finish(account, id)).body.data.status).toBe("completed");
  expect(fetched).toHaveBeenCalledTimes(2);
});

test("a video without sound, or a range outside it: failed with invalid_input, and no character", async () => {
  const account = await newAccount();
  const source = await makeVideo(account);
  await script({ match: "0.125,1.625", polls: [{ failed: "invalid_input" }] });
  const id = await submit(account, videos, { model: "vidA-2", from_task: source, timestamps: "0.125,1.625" });
  await finish(account, id);
  const failed = await look(account, id);
  expect(failed).toEqual({
    id,
    object: "generation.task",
    model: "vidA-2",
    status: "failed",
    progress: expect.any(Number),
    created_at: expect.any(Number),
    metadata: expect.objectContaining({ kind: "character" }),
    error: { code: "invalid_input", message: expect.any(String) },
  });
  expect((await call("/v1/characters", { key: account.key })).body).toEqual({ object: "list", data: [], has_more: false });
});

test("from_task must name a completed video of the account: 404 for unknown or foreign tasks, else 400", async () => {
  const account = await newAccount();
  const stranger = await newAccount();
  const foreign = await makeVideo(stranger);
  const image = await submit(account, "/v1/images/generations", { model: "imgA-4", prompt: unique() });
  const running = await submit(account, videos, { model: "vidA-2", prompt: unique() });
  const ask = (from_task: string) => call(videos, { key: account.key, body: { model: "vidA-2", from_task, timestamps: "0,1" } });
  for (const id of [foreign, "task_unknown"])
    expect(await ask(id)).toMatchObject({ status: 404, body: { error: { type: "task_not_found", code: "task_not_found" } } });
  for (const id of [image, running])
    expect(await ask(id)).toMatchObject({ status: 400, body: { error: { type: "invalid_request", param: "from_task" } } });
  const finished = await makeVideo(account);
  vi.setSystemTime(Date.now() + 86_401_000);
  expect(await ask(finished)).toMatchObject({ status: 400, body: { error: { type: "invalid_request", param: "from_task" } } });
});

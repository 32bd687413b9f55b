/** `/v1/batches`: many submissions as lines; order, limits, crashes, cancelling. Contract 16. */

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import * as fc from "fast-check";
import { unzipSync } from "fflate";
import { BatchInput } from "../../../src/api/batches/input.ts";
import { BatchObject } from "../../../src/api/batches/object.ts";
import { BatchRun } from "../../../src/api/batches/run.ts";
import { type Batch, BatchStore } from "../../../src/api/batches/state.ts";
import { WalletObject } from "../../../src/wallet/object.ts";
import { TaskObject } from "../../../src/tasks/object/task-object.ts";
import { buckets, origin, setDestination } from "../../support/bucket.ts";
import { begin, forget, images, line, lines, openTasks, price, readResults, run, show, openBatch, wake } from "../../support/batches.ts";
import { bindings, crash, failOnce, failWalletOnce } from "../../support/faults.ts";
import { sha256Hex, toObjectId } from "../../../src/base/ids.ts";
import { canonicalJson } from "../../../src/media/canonical-json.ts";
import {
  alarm,
  asAdmin,
  call,
  deliver,
  finish,
  holdTime,
  newAccount,
  pass,
  readBalance,
  script,
  submit,
  unique,
  upstreamCalls,
  shortenPauses,
} from "../../support/gateway.ts";

shortenPauses();

beforeEach(holdTime);
afterEach(() => void vi.useRealTimers());

test("a batch makes each line once, in any order, and its results are in the order of the input", async () => {
  const account = await newAccount(100);
  const id = await begin(account, { requests: lines(40), concurrency: 3, reference: "spring" });
  const created = await show(account, id);
  expect(created).toMatchObject({
    id,
    object: "batch",
    status: "validating",
    reference: "spring",
    cost: { reserved: 0, charged: 0, limit: null },
  });
  await wake(id);
  expect(await show(account, id)).toMatchObject({ status: "in_progress", counts: { total: 40, queued: 40 } });
  expect(await openTasks(account)).toEqual([]);
  await wake(id);
  expect(await show(account, id)).toMatchObject({ counts: { queued: 37, running: 3 }, cost: { reserved: 3 * price } });
  expect(await openTasks(account)).toHaveLength(3);
  // Also once the object has left memory.
  await forget(id);
  expect(await show(account, id)).toMatchObject({
    counts: { queued: 37, running: 3 },
    cost: { reserved: 3 * price, expected: 40 * price },
  });
  const ended = await run(account, id);
  expect(ended).toMatchObject({ status: "completed", counts: { total: 40, queued: 0, running: 0, completed: 40, failed: 0 } });
  expect(ended.cost.charged).toBeCloseTo(40 * price);
  const results = await readResults(account, id);
  expect(results.map(({ custom_id: own }) => own)).toEqual(Array.from({ length: 40 }, (_, at) => `line-${at}`));
  expect(new Set(results.map(({ task }) => task)).size).toBe(40);
  for (const { response, cost } of results) {
    expect(cost).toEqual({ reserved: price, charged: price, returned: 0 });
    expect((await call(response!.result!.images[0]!.url[0]!)).status).toBe(200);
  }
  expect((await readBalance(account)).used).toBeCloseTo(40 * price);
  // The results are a file of the account, too.
  const file = await call(`/v1/files/${ended.results_file}/content`, { key: account.key });
  expect(file.headers.get("content-type")).toBe("application/jsonl");
  expect(new TextDecoder().decode(file.body).trim().split("\n")).toHaveLength(40);
  expect((await call("/v1/batches", { key: account.key })).body.data).toEqual([ended]);
});

test("a file of JSON lines is the input, and may be deleted at once; refused lines fail alone", async () => {
  const account = await newAccount();
  const input = [
    line("good"),
    line("good"),
    { endpoint: images, body: {} },
    line("bad model", { model: "none" }),
    line("bad image", { images: ["file_unknown"] }),
    { ...line("chat"), endpoint: "/v1/chat/completions" },
    { ...line("other"), endpoint: "/v1/embeddings" },
    { ...line("remix"), endpoint: "/v1/videos/task_x/remix", body: { model: "vidA-2", prompt: "p" } },
  ];
  const text = `${input.map((one) => JSON.stringify(one)).join("\r\n\n")}\n\nno json`;
  const file = await call("/v1/files", { key: account.key, method: "POST", body: text, headers: { "content-type": "application/jsonl" } });
  expect(file.body).toMatchObject({ type: "application/jsonl" });
  const id = await begin(account, { input_file: file.body.id });
  expect((await call(`/v1/files/${file.body.id}`, { key: account.key, method: "DELETE" })).status).toBe(204);
  const ended = await run(account, id);
  expect(ended).toMatchObject({ status: "completed", input_file: file.body.id, counts: { total: 9, completed: 1, failed: 8 } });
  const results = await readResults(account, id);
  expect(results.map(({ custom_id: own, status, error }) => [own, status, error?.code, error?.param])).toEqual([
    ["good", "completed", undefined, undefined],
    ["good", "failed", "invalid_request", "custom_id"],
    [null, "failed", "invalid_request", "custom_id"],
    ["bad model", "failed", "model_not_found", "model"],
    ["bad image", "failed", "invalid_request", "images[0]"],
    ["chat", "failed", "model_not_found", "model"],
    ["other", "failed", "invalid_request", "endpoint"],
    ["remix", "failed", "task_not_found", "video_id"],
    [null, "failed", "invalid_json", null],
  ]);
});

test("an image of a batch that was not worked on for five minutes completes: nobody waits for it", async () => {
  const account = await newAccount();
  const id = await begin(account, { requests: lines(2) });
  await vi.waitFor(async () => {
    await wake(id);
    expect(await openTasks(account)).toHaveLength(2);
  });
  for (const task of await openTasks(account)) await pass(task, 150);
  const ended = await run(account, id);
  expect(ended).toMatchObject({ status: "completed", counts: { completed: 2, failed: 0 } });
});

test("lines of /v1/tasks are tasks of any model but text", async () => {
  const account = await newAccount();
  const endpoint = "/v1/tasks";
  const requests = [
    { custom_id: "image", endpoint, body: { model: "imgA-4", prompt: unique() } },
    { custom_id: "video", endpoint, body: { model: "vidA-2", prompt: unique() } },
    { custom_id: "text", endpoint, body: { model: "gpt-5.5", messages: [{ role: "user", content: "Hi" }] } },
  ];
  const ended = await run(account, await begin(account, { requests }));
  expect(ended).toMatchObject({ status: "completed", counts: { completed: 2, failed: 1 } });
  const results = await readResults(account, ended.id);
  expect(results.map(({ response, error }) => (response as { metadata?: { kind: string } })?.metadata?.kind ?? error?.param)).toEqual([
    "image",
    "video",
    "model",
  ]);
  expect((await readBalance(account)).used).toBeCloseTo(ended.cost.charged);
});

test("deliver_to of a batch is that of its lines which have none of their own", async () => {
  const account = await newAccount();
  buckets([origin]);
  for (const name of ["shop", "other"]) await setDestination(account, {}, name);
  const ask = async (to: object) => {
    const answer = await call("/v1/batches", { key: account.key, body: { requests: lines(1), deliver_to: to } });
    return [answer.status, answer.body.error?.param];
  };
  expect(await ask({ destination: "none" })).toEqual([400, "deliver_to.destination"]);
  expect(await ask({ url: `${origin}/media/x.png` })).toEqual([400, "deliver_to.url"]);
  expect(await ask({})).toEqual([400, "deliver_to"]);
  const requests = [line("a"), line("b", { deliver_to: { destination: "other" } }), line("c", { deliver_to: null })];
  const id = await begin(account, { requests, deliver_to: { destination: "shop", prefix: "spring/" } });
  await wake(id);
  await wake(id);
  vi.restoreAllMocks();
  const delivers = [];
  for (const task of await openTasks(account))
    delivers.push((await env.TASKS.get(toObjectId(env.TASKS, task)!).read(account.id))!.submission.deliverTo);
  const shop = { destination: "shop", prefix: "spring/" };
  expect(delivers.toSorted((a, b) => (a!.destination! < b!.destination! ? -1 : 1))).toEqual([{ destination: "other" }, shop, shop]);
  expect(await run(account, id)).toMatchObject({ status: "completed", deliver_to: shop });
  // A receipt names the body of the line as it was sent.
  for (const [at, { task }] of (await readResults(account, id)).entries())
    expect((await call(`/v1/tasks/${task}/receipt`, { key: account.key })).body.receipt.request_sha256).toBe(
      await sha256Hex(canonicalJson(requests[at]!.body)),
    );
});

test("a batch counts the deliveries of its lines, also one that is repeated and one that ends after the batch", async () => {
  const account = await newAccount();
  const { at } = buckets([origin]);
  await setDestination(account);
  const to = (destination: string) => ({ deliver_to: { destination } });
  await setDestination(account, {}, "other");
  await call("/v1/webhook", { key: account.key, method: "PUT", body: { url: "https://hooks.example.com/all" } });
  const id = await begin(account, { requests: [line("a"), line("b", to("other"))], ...to("shop") });
  expect(await show(account, id)).toMatchObject({ deliveries: { pending: 0, delivered: 0, failed: 0 } });
  expect(await run(account, id)).toMatchObject({ status: "completed", deliveries: { pending: 2, delivered: 0, failed: 0 } });
  await call("/v1/destinations/other", { key: account.key, method: "DELETE" });
  const tasks = (await readResults(account, id)).map(({ task }) => task!);
  const settle = async () => {
    for (const task of tasks) for (let step = 0; step < 3; step++) await alarm(task);
  };
  await settle();
  expect(await show(account, id)).toMatchObject({ deliveries: { delivered: 1, failed: 1 } });
  // The endpoint of the account hears of the batch only.
  for (const task of tasks) expect((await call(`/v1/tasks/${task}/callback`, { key: account.key })).body).not.toHaveProperty("delivery");
  await forget(id);
  await setDestination(account, {}, "other");
  for (const task of tasks) await call(`/v1/tasks/${task}/delivery`, { key: account.key, method: "POST" });
  await settle();
  const shown = await show(account, id);
  expect(shown).toMatchObject({ status: "completed", deliveries: { pending: 0, delivered: 2, failed: 0 } });
  // They are counted once: a batch may have fifty thousand.
  await runInDurableObject(openBatch(id), (_, { storage }) => storage.sql.exec("DELETE FROM delivery"));
  await forget(id);
  expect(await show(account, id)).toEqual(shown);
  expect([...at[origin]!.objects.keys()].sort()).toEqual(tasks.map((task) => `${task}/1.png`).sort());
});

test("what was not delivered is delivered again with one request, whatever crashes or is repeated on the way", async () => {
  const account = await newAccount();
  const { at } = buckets([origin]);
  await setDestination(account);
  const id = await begin(account, { requests: lines(6), deliver_to: { destination: "shop" } });
  expect((await run(account, id)).status).toBe("completed");
  const used = (await readBalance(account)).used;
  const tasks = (await readResults(account, id)).map(({ task }) => task!);
  const settle = async (some = tasks) => {
    for (const task of some) for (let step = 0; step < 3; step++) await alarm(task);
  };
  const again = async () => {
    const answer = await call(`/v1/batches/${id}/delivery`, { key: account.key, method: "POST" });
    expect([answer.status, answer.body.id]).toEqual([200, id]);
    return answer.body.deliveries as Record<"pending" | "delivered" | "failed", number>;
  };
  const puts = () => at[origin]!.requests.filter((request) => request.startsWith("PUT ")).length;
  await settle(tasks.slice(0, 2));
  await call("/v1/destinations/shop", { key: account.key, method: "DELETE" });
  await settle(tasks.slice(2, 5));
  expect(await show(account, id)).toMatchObject({ deliveries: { delivered: 2, failed: 3 } });
  // The destination is still missing: they fail again, and what has arrived stays as it is.
  expect(await again()).toEqual({ pending: 4, delivered: 2, failed: 0 });
  await wake(id);
  await settle(tasks.slice(2, 5));
  expect(await show(account, id)).toMatchObject({ deliveries: { delivered: 2, failed: 3 } });
  await wake(id);

  await setDestination(account);
  const before = puts();
  // A task that does not answer counts as failed, and the others are asked; its answer may be lost only.
  failOnce(TaskObject.prototype as never, "repeatDelivery", false);
  await again();
  await again();
  vi.spyOn(BatchStore.prototype, "write").mockImplementationOnce(() => {
    throw new Error("scripted fault");
  });
  await wake(id);
  await forget(id);
  vi.setSystemTime(Date.now() + 5_000);
  await wake(id);
  await settle();
  expect(await show(account, id)).toMatchObject({ deliveries: { delivered: 5, failed: 1 } });
  await wake(id);
  await again();
  await wake(id);
  await settle();
  expect(await show(account, id)).toMatchObject({ status: "completed", deliveries: { pending: 0, delivered: 6, failed: 0 } });
  expect(puts() - before).toBe(4);
  expect([...at[origin]!.objects.keys()].sort()).toEqual(tasks.map((task) => `${task}/1.png`).sort());
  // Nothing is left to do, nothing costs anything, and the batch is removed in time.
  await again();
  await wake(id);
  await settle();
  expect(puts() - before).toBe(4);
  expect((await readBalance(account)).used).toBe(used);
  vi.setSystemTime(Date.now() + 8 * 86_400_000);
  await wake(id);
  expect((await call(`/v1/batches/${id}`, { key: account.key })).status).toBe(404);
});

test("a line whose task its owner deletes has a delivery that failed, also if it is to be delivered again", async () => {
  const account = await newAccount();
  const { at } = buckets([origin]);
  await setDestination(account);
  at[origin]!.mode = "dead";
  const id = await begin(account, { requests: lines(2), deliver_to: { destination: "shop" } });
  expect(await run(account, id)).toMatchObject({ status: "completed", deliveries: { pending: 2 } });
  const tasks = (await readResults(account, id)).map(({ task }) => task!);
  const remove = async (task: string) => (await call(`/v1/tasks/${task}`, { key: account.key, method: "DELETE" })).status;
  failWalletOnce(account, "noteDelivery");
  expect([await remove(tasks[0]!), await remove(tasks[0]!), await remove(tasks[1]!)]).toEqual([503, 204, 204]);
  expect(await show(account, id)).toMatchObject({ deliveries: { pending: 0, delivered: 0, failed: 2 } });
  const events = (await call("/v1/events", { key: account.key })).body.data as { type: string; task: string }[];
  expect(events.filter(({ type }) => type === "task.delivery_failed").map(({ task }) => task)).toEqual(tasks);

  await call(`/v1/batches/${id}/delivery`, { key: account.key, method: "POST" });
  await wake(id);
  expect(await show(account, id)).toMatchObject({ deliveries: { pending: 0, delivered: 0, failed: 2 } });
});

test("a task that its owner deletes leaves the results, also their file, whenever that is", async () => {
  const account = await newAccount(100);
  const requests = lines(3, { reference: "secret" });
  const id = await begin(account, { requests, concurrency: 3 });
  await wake(id);
  await wake(id);
  const remove = async (task: string) => (await call(`/v1/tasks/${task}`, { key: account.key, method: "DELETE" })).status;
  const [early] = await openTasks(account);
  await finish(account, early!);
  const place = (await readResults(account, id)).findIndex(({ task }) => task === early);
  expect(await remove(early!)).toBe(204);
  expect((await readResults(account, id))[place]!.response).toBeUndefined();

  const ended = await run(account, id);
  const readFile = async (file: string) => {
    const { status, body } = await call(`/v1/files/${file}/content`, { key: account.key });
    return status === 200 ? new TextDecoder().decode(body as ArrayBuffer) : status;
  };
  const late = (await readResults(account, id)).find(({ task, response }) => task !== early && response)!.task!;
  expect(await readFile(ended.results_file)).toContain(late);
  // The batch's object fails once: the task is still there, and its owner deletes it again.
  failOnce(BatchObject.prototype as never, "lineErased");
  expect([await remove(late), await remove(late)]).toEqual([503, 204]);
  expect(await readFile(ended.results_file)).toBe(404);
  expect(await show(account, id)).not.toHaveProperty("results_file");
  vi.setSystemTime(Date.now() + 10_000);
  await wake(id);
  const { results_file: file, ...same } = await show(account, id);
  expect({ ...same, results_file: ended.results_file }).toEqual(ended);
  const results = await readResults(account, id);
  expect(results.map(({ status, cost }) => [status, cost.charged])).toEqual(results.map(() => ["completed", price]));
  expect(results.filter(({ response }) => response)).toHaveLength(1);
  expect(await readFile(file)).toBe(results.map((line) => `${JSON.stringify(line)}\n`).join(""));
});

test("deliveries of an account are repeated within its limit of submissions, and while the batch runs", async () => {
  const account = await newAccount();
  buckets([origin]);
  await setDestination(account);
  const id = await begin(account, { requests: lines(4), concurrency: 3, deliver_to: { destination: "shop" } });
  await wake(id);
  await wake(id);
  for (const task of await openTasks(account)) await finish(account, task);
  const asked = vi.spyOn(TaskObject.prototype, "repeatDelivery");
  let left = 2;
  const limit = async ({ key }: RateLimitOptions) => ({ success: key === `${account.id} deliveries` && left-- > 0 });
  await runInDurableObject(openBatch(id), (object) => {
    Object.assign(object, { env: { ...env, RATE_LIMITS: "on", ACCOUNT_SUBMISSIONS: { limit } } });
  });
  await call(`/v1/batches/${id}/delivery`, { key: account.key, method: "POST" });
  await wake(id);
  expect(asked).toHaveBeenCalledTimes(2);
  left = 9;
  vi.setSystemTime(Date.now() + 10_000);
  await wake(id);
  expect(asked).toHaveBeenCalledTimes(3);
  expect(await run(account, id)).toMatchObject({ status: "completed", counts: { completed: 4 } });
});

/** A batch that waits for the balance of its last line, so long that it tries again after ten minutes. */
async function waitingForBalance() {
  const account = await newAccount(3 * price);
  const id = await begin(account, { requests: lines(4) });
  await wake(id);
  await wake(id);
  for (const task of await openTasks(account)) await finish(account, task);
  vi.setSystemTime(Date.now() + 3 * 3_600_000);
  await wake(id);
  expect(await show(account, id)).toMatchObject({ waiting_for: "balance", counts: { completed: 3, running: 0, queued: 1 } });
  const wakesAfter = async () =>
    ((await runInDurableObject(openBatch(id), (_, { storage }) => storage.getAlarm())) ?? Infinity) - Date.now();
  expect(await wakesAfter()).toBe(600_000);
  return { account, id, wakesAfter };
}

test("while a batch waits for balance, it repeats deliveries every ten seconds, and asks for balance no earlier than without them", async () => {
  const { account, id, wakesAfter } = await waitingForBalance();
  vi.setSystemTime(Date.now() + 600_000);
  let left = 1;
  const limit = async ({ key }: RateLimitOptions) => ({ success: key === `${account.id} deliveries` && left-- > 0 });
  await runInDurableObject(openBatch(id), (object) => {
    Object.assign(object, { env: { ...env, RATE_LIMITS: "on", ACCOUNT_SUBMISSIONS: { limit } } });
  });
  await runInDurableObject(openBatch(id), (_, { storage }) => {
    for (const n of [0, 1, 2]) new BatchStore(storage).putDelivery(n, "delivery_failed");
  });
  const asked = vi.spyOn(TaskObject.prototype, "repeatDelivery");
  await call(`/v1/batches/${id}/delivery`, { key: account.key, method: "POST" });
  for (let time = 1; time <= 3; time++) {
    await wake(id);
    expect([asked.mock.calls.length, await wakesAfter()]).toEqual([time, 10_000]);
    vi.setSystemTime(Date.now() + 10_000);
    left = 1;
  }
  const reserved = vi.spyOn(WalletObject.prototype, "reserve");
  await wake(id);
  expect(reserved).not.toHaveBeenCalled();
  expect(await wakesAfter()).toBe(570_000);
});

test("a batch that is cancelled while it waits for balance ends at once", async () => {
  const { account, id } = await waitingForBalance();
  expect((await call(`/v1/batches/${id}/cancel`, { key: account.key, method: "POST" })).status).toBe(200);
  await wake(id);
  expect(await show(account, id)).toMatchObject({ status: "cancelled", counts: { completed: 3, failed: 1 } });
});

test("a receiver that requests the delivery while it is called about the batch's end gets it", async () => {
  const account = await newAccount();
  buckets([origin]);
  await setDestination(account);
  const id = await begin(account, {
    requests: lines(1),
    deliver_to: { destination: "shop" },
    callback_url: "https://receiver.example/end",
  });
  const requested: number[] = [];
  const fetched = globalThis.fetch;
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
    if (new Request(input, init).url !== "https://receiver.example/end") return fetched(input, init);
    requested.push((await call(`/v1/batches/${id}/delivery`, { key: account.key, method: "POST" })).status);
    return new Response(null, { status: 204 });
  });
  const asked = vi.spyOn(TaskObject.prototype, "repeatDelivery");
  await run(account, id);
  while (requested.length === 0) await wake(id);
  const next = await runInDurableObject(openBatch(id), (_, { storage }) => storage.getAlarm());
  expect(next! - Date.now()).toBeLessThanOrEqual(10_000);
  await wake(id);
  expect([requested, asked.mock.calls.length]).toEqual([[200], 1]);
});

test("a batch that waits for open tasks of its account asks less and less often", async () => {
  const account = await newAccount();
  const id = await begin(account, { requests: lines(1) });
  const asked = vi.spyOn(WalletObject.prototype, "reserve").mockResolvedValue({ answer: "too_many" });
  await wake(id);
  for (const until = Date.now() + 3_600_000; Date.now() < until;) {
    await wake(id);
    const next = await runInDurableObject(openBatch(id), (_, { storage }) => storage.getAlarm());
    vi.setSystemTime(Math.max(Date.now(), next!));
  }
  expect(asked.mock.calls.length).toBeLessThan(120);
  // However long it waits, no line fails for it.
  vi.setSystemTime(Date.now() + 25 * 3_600_000);
  await wake(id);
  vi.restoreAllMocks();
  expect(await run(account, id)).toMatchObject({ status: "completed", counts: { completed: 1 } });
});

test("another account, a client token and an unknown batch get no delivery", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  const id = await begin(account, { requests: lines(1) });
  const ask = async (key: string, batch: string) => (await call(`/v1/batches/${batch}/delivery`, { key, method: "POST" })).status;
  expect(await ask(other.key, id)).toBe(404);
  expect(await ask(account.key, "batch_none")).toBe(404);
  const { body } = await call("/v1/tokens", { key: account.key, body: { tasks: 1, max_cost: 1, expires_in: 60 } });
  expect(await ask(body.token, id)).toBe(403);
  // A batch whose lines are delivered nowhere has nothing to do.
  expect(await ask(account.key, id)).toBe(200);
  const ended = await run(account, id);
  expect([ended.status, ended.deliveries]).toEqual(["completed", undefined]);
});

test("files.zip has the files of completed lines under their custom_id", async () => {
  const account = await newAccount();
  const prompt = unique();
  await script({ match: prompt, polls: [{ failed: "content_policy_violation" }] });
  const requests = [
    line("two", { n: 2 }),
    line("a/b"),
    line("failed", { prompt }),
    line("A:b"),
    line("\u00e9"),
    line("e\u0301"),
    line("gone"),
    {
      custom_id: "..video",
      endpoint: "/v1/videos/generations",
      body: { model: "vidA-2", prompt: unique(), metadata: { thumbnail: true } },
    },
  ];
  const ended = await run(account, await begin(account, { requests }));
  const results = await readResults(account, ended.id);
  const gone = results.find(({ custom_id: own }) => own === "gone")!;
  await call(`/v1/tasks/${gone.task}`, { key: account.key, method: "DELETE" });
  const read = (key: string) => call(`/v1/batches/${ended.id}/files.zip`, { key });
  const archive = await read(account.key);
  expect([archive.status, archive.headers.get("content-type")]).toEqual([200, "application/zip"]);
  const files = unzipSync(new Uint8Array(archive.body as ArrayBuffer));
  const names = Object.keys(files);
  expect(names.map((name) => name.replace(/-thumbnail\.\w+$/, "-thumbnail"))).toEqual([
    "two-1.png",
    "two-2.png",
    "a_b.png",
    "A_b (2).png",
    // One name for macOS, with the accent in the letter or behind it.
    "\u00e9.png",
    "\u00e9 (2).png",
    "_video.mp4",
    "_video-thumbnail",
  ]);
  const [first] = results;
  expect(files["two-1.png"]).toEqual(new Uint8Array((await call(first!.response!.result!.images[0]!.url[0]!)).body as ArrayBuffer));
  expect((await read((await newAccount()).key)).status).toBe(404);
});

test("a batch of which no line can be read fails and names lines", async () => {
  const account = await newAccount();
  const id = await begin(account, { requests: [1, { custom_id: "a" }] });
  const ended = await run(account, id);
  expect(ended).toMatchObject({ status: "failed", counts: { total: 0 } });
  expect(ended.errors).toMatchObject([
    { line: 1, code: "invalid_json", param: null, message: expect.stringMatching(/^The body or batch line /) },
    { line: 2, code: "invalid_request", param: "endpoint" },
  ]);
  expect(await readResults(account, id)).toEqual([]);
});

test("a batch of which every line is refused has each line's error in its results, under its own id", async () => {
  const account = await newAccount();
  const callback_url = "https://receiver.example/refused";
  const called = vi.spyOn(globalThis, "fetch").mockResolvedValue(new Response());
  const ended = await run(account, await begin(account, { requests: [line("a", { model: "none" }), line("b", { n: 0 })], callback_url }));
  expect(ended).toMatchObject({
    status: "completed",
    counts: { total: 2, completed: 0, failed: 2 },
    cost: { reserved: 0, charged: 0, expected: 0 },
  });
  expect(ended).not.toHaveProperty("errors");
  expect(await readResults(account, ended.id)).toMatchObject([
    { custom_id: "a", status: "failed", error: { param: "model" } },
    { custom_id: "b", status: "failed", error: { param: "n" } },
  ]);
  await wake(ended.id);
  expect(called).toHaveBeenCalledTimes(1);
});

test("an error of a line is stored cut, however long the names in it are", async () => {
  const account = await newAccount();
  const record = Object.fromEntries(Array.from({ length: 1_025 }, (_, at) => [at, 0]));
  const bad = (id: string) => line(id, { ["n".repeat(300_000)]: record });
  const { id } = await run(account, await begin(account, { requests: [bad("a"), bad("b")] }));
  const results = await readResults(account, id);
  expect(results).toMatchObject([{ error: { param: "n".repeat(64) } }, { error: { param: "n".repeat(64) } }]);
  expect(JSON.stringify(results).length).toBeLessThan(2_000);
});

test("requests that are refused: no input, two inputs, unknown or other files, limits", async () => {
  const account = await newAccount();
  const param = async (body: object) => {
    const answer = await call("/v1/batches", { key: account.key, body });
    return [answer.status, answer.body.error?.param];
  };
  const picture = await call("/v1/files", {
    key: account.key,
    method: "POST",
    body: new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0, 0]).buffer,
    headers: { "content-type": "image/png" },
  });
  expect(await param({})).toEqual([400, "input_file"]);
  expect(await param({ input_file: "file_x", requests: [line("a")] })).toEqual([400, "requests"]);
  expect(await param({ input_file: "file_x" })).toEqual([400, "input_file"]);
  expect(await param({ input_file: picture.body.id })).toEqual([400, "input_file"]);
  expect(await param({ requests: [] })).toEqual([400, "requests"]);
  expect(await param({ requests: lines(101) })).toEqual([400, "requests"]);
  expect(await param({ requests: [line("a")], concurrency: 101 })).toEqual([400, "concurrency"]);
  expect(await param({ requests: [line("a")], callback_url: "ftp://x" })).toEqual([400, "callback_url"]);
  expect((await call("/v1/batches", { key: account.key })).body.data).toEqual([]);
  const stranger = await newAccount();
  const id = await begin(account, { requests: [line("a")] });
  for (const path of ["", "/results", "/cancel"])
    expect((await call(`/v1/batches/${id}${path}`, { key: stranger.key, method: path === "/cancel" ? "POST" : "GET" })).status).toBe(404);
});

test("a batch has no dry run: one that is asked for is refused, and no line runs", async () => {
  const account = await newAccount();
  const body = { requests: [line("a")] };
  for (const value of ["true", "True", "1", ""])
    expect((await call(`/v1/batches?dry_run=${value}`, { key: account.key, body })).body.error).toMatchObject({
      param: "dry_run",
      message: "dry_run: must be false",
    });
  expect((await call("/v1/batches", { key: account.key })).body.data).toEqual([]);
  expect((await call("/v1/batches?dry_run=false", { key: account.key, body })).status).toBe(201);
});

test("cancelling and delivering a batch take no body or an object", async () => {
  const account = await newAccount();
  const id = await begin(account, { requests: [line("a")] });
  for (const path of ["delivery", "cancel"]) {
    const send = async (body?: unknown) => (await call(`/v1/batches/${id}/${path}`, { key: account.key, method: "POST", body })).status;
    expect([path, await send("junk"), await send([]), await send({})]).toEqual([path, 400, 400, 200]);
  }
});

test("an idempotency key begins a batch once", async () => {
  const account = await newAccount();
  const body = { requests: lines(2) };
  const send = (sent: object) => call("/v1/batches", { key: account.key, body: sent, headers: { "idempotency-key": "k" } });
  const [first, again] = [await send(body), await send(body)];
  expect([again.status, again.body.id, again.headers.get("idempotent-replayed")]).toEqual([201, first.body.id, "true"]);
  expect((await send({ requests: lines(1) })).status).toBe(409);
  expect((await run(account, first.body.id)).counts.total).toBe(2);
});

test("a repeated batch may name the same bytes as another file, as a restarted program does that uploads first", async () => {
  const account = await newAccount();
  const add = async (text: string) => {
    const bytes = new Uint8Array([0x89, ...new TextEncoder().encode(`PNG\r\n\x1a\n${text}`)]);
    const headers = { "content-type": "image/png" };
    return (await call("/v1/files", { key: account.key, method: "POST", body: bytes.buffer, headers })).body.id as string;
  };
  const one = line("a", { model: "imgB-4o-image" });
  const send = (file: string) =>
    call("/v1/batches", {
      key: account.key,
      body: { requests: [{ ...one, body: { ...one.body, images: [file] } }] },
      headers: { "idempotency-key": "k" },
    });
  const [first, again] = [await send(await add("a")), await send(await add("a"))];
  expect([again.body.id, again.headers.get("idempotent-replayed")]).toEqual([first.body.id, "true"]);
  expect((await send(await add("b"))).status).toBe(409);
});

test("of two requests at once with one idempotency key and other lines, the second changes nothing of the first one's batch", async () => {
  const account = await newAccount();
  const send = (requests: object[]) => call("/v1/batches", { key: account.key, body: { requests }, headers: { "idempotency-key": "k" } });
  const first = await send(lines(3));
  // The second request looked the key up before the first one's batch existed.
  vi.spyOn(BatchObject.prototype, "find").mockResolvedValueOnce(null);
  expect((await send([line("other"), line("another")])).status).toBe(409);
  const { id } = first.body;
  const stored = (await env.ASSETS.list({ prefix: `batches/${id}/` })).objects;
  expect(stored).toHaveLength(1);
  expect(await run(account, id)).toMatchObject({ status: "completed", counts: { total: 3, completed: 3 } });
  expect((await readResults(account, id)).map(({ custom_id: own }) => own)).toEqual(["line-0", "line-1", "line-2"]);
});

test("of two requests at once with one idempotency key, one that fails takes nothing from the other", async () => {
  const account = await newAccount();
  const send = () => call("/v1/batches", { key: account.key, body: { requests: lines(3) }, headers: { "idempotency-key": "k" } });
  const bucket = bindings.bucket();
  const original = bucket["put"]!;
  let [isFirst, isBroken] = [true, false];
  vi.spyOn(bucket, "put").mockImplementation(async function (this: unknown, ...values: unknown[]) {
    if (isBroken) throw new Error("scripted fault");
    const stored = await original.apply(this, values);
    if (isFirst) {
      // The caller repeats the request while the first one has stored the lines.
      [isFirst, isBroken] = [false, true];
      expect((await send()).status).toBe(500);
      isBroken = false;
    }
    return stored;
  });
  const { status, body } = await send();
  expect(status).toBe(201);
  expect(await run(account, body.id)).toMatchObject({ status: "completed", counts: { total: 3, completed: 3 } });
  expect((await call("/v1/batches", { key: account.key })).body.data).toHaveLength(1);
});

test("max_cost is never passed: lines that would pass it fail and cost nothing", async () => {
  const account = await newAccount();
  const id = await begin(account, { requests: [...lines(6), line("dear", { n: 4 })], max_cost: 0.1, concurrency: 2 });
  const ended = await run(account, id);
  expect(ended).toMatchObject({ status: "completed", counts: { completed: 3, failed: 4 }, cost: { limit: 0.1 } });
  expect(ended.cost.charged).toBeCloseTo(0.09);
  const failed = (await readResults(account, id)).filter(({ status }) => status === "failed");
  for (const { error, cost } of failed) expect([error!.code, cost.charged]).toEqual(["cost_limit_exceeded", 0]);
});

test("a failed task returns its price to the batch's limit", async () => {
  const account = await newAccount();
  const prompt = unique();
  await script({ match: prompt, polls: [{ failed: "content_policy_violation" }] });
  const requests = [line("a", { prompt }), line("b"), line("c")];
  const id = await begin(account, { requests, max_cost: 2 * price, concurrency: 1 });
  const ended = await run(account, id);
  expect(ended).toMatchObject({ counts: { completed: 2, failed: 1 }, cost: { reserved: 0 } });
  expect(ended.cost.charged).toBeCloseTo(2 * price);
  const [failed] = await readResults(account, id);
  expect(failed).toMatchObject({ status: "failed", error: { code: "content_policy_violation" }, cost: { charged: 0, returned: price } });
});

test("without balance the batch waits and goes on when there is some; after a day the rest fails", async () => {
  const account = await newAccount(2 * price);
  const id = await begin(account, { requests: lines(4), concurrency: 4 });
  for (let turn = 0; turn < 6; turn++) {
    await wake(id);
    for (const task of await openTasks(account)) await finish(account, task);
    vi.setSystemTime(Date.now() + 20_000);
  }
  expect(await show(account, id)).toMatchObject({ status: "in_progress", waiting_for: "balance", counts: { completed: 2, queued: 2 } });
  await asAdmin(`/accounts/${account.id}`, { method: "PATCH", body: { add: price } });
  for (let turn = 0; turn < 4; turn++) {
    await wake(id);
    for (const task of await openTasks(account)) await finish(account, task);
    vi.setSystemTime(Date.now() + 20_000);
  }
  expect(await show(account, id)).toMatchObject({ status: "in_progress", counts: { completed: 3, queued: 1 } });
  vi.setSystemTime(Date.now() + 25 * 3_600_000);
  const ended = await run(account, id);
  expect(ended).toMatchObject({ status: "completed", counts: { completed: 3, failed: 1 } });
  expect((await readResults(account, id)).filter(({ error }) => error?.code === "insufficient_quota")).toHaveLength(1);
});

test("a batch that waits a day for balance asks for it less and less often", async () => {
  const account = await newAccount(0);
  const id = await begin(account, { requests: lines(1) });
  const asked = vi.spyOn(WalletObject.prototype, "reserve");
  await wake(id);
  const began = Date.now();
  for (let turn = 0; turn < 220 && (await show(account, id)).status === "in_progress"; turn++) {
    await wake(id);
    const next = await runInDurableObject(openBatch(id), (_, { storage }) => storage.getAlarm());
    vi.setSystemTime(Math.max(Date.now(), next ?? 0));
    // Ten minutes after there is some balance the batch goes on.
    expect(Date.now() - began).toBeLessThanOrEqual(86_400_000 + 600_000);
  }
  expect(await show(account, id)).toMatchObject({ status: "completed", counts: { failed: 1 } });
  expect(asked.mock.calls.length).toBeGreaterThan(50);
});

test("a batch that waits for balance asks with one of its lines, and begins them all when there is some", async () => {
  const account = await newAccount(0);
  const id = await begin(account, { requests: lines(8), concurrency: 8 });
  await wake(id);
  await wake(id);
  const asked = vi.spyOn(WalletObject.prototype, "reserve");
  for (let turn = 1; turn <= 3; turn++) {
    vi.setSystemTime(Date.now() + 20_000);
    await wake(id);
    expect(asked).toHaveBeenCalledTimes(turn);
  }
  await asAdmin(`/accounts/${account.id}`, { method: "PATCH", body: { add: 8 * price } });
  vi.setSystemTime(Date.now() + 20_000);
  await wake(id);
  expect(await show(account, id)).toMatchObject({ counts: { running: 8, queued: 0 } });
});

test("a day without balance is a day, also if the batch waits for open tasks in between", async () => {
  const account = await newAccount(0);
  const id = await begin(account, { requests: lines(2), concurrency: 2 });
  const answers: object[] = [];
  const refuse = (answer: string) => vi.spyOn(WalletObject.prototype, "reserve").mockResolvedValue({ answer } as never);
  await wake(id);
  for (let hour = 0; hour < 26; hour++) {
    refuse(hour % 2 === 0 ? "insufficient" : "too_many");
    await wake(id);
    answers.push(await show(account, id));
    vi.setSystemTime(Date.now() + 3_600_000);
  }
  expect(answers[1]).toMatchObject({ waiting_for: "open_tasks" });
  expect(answers[2]).toMatchObject({ waiting_for: "balance" });
  vi.restoreAllMocks();
  expect(await run(account, id)).toMatchObject({ status: "completed", counts: { failed: 2 } });
  expect((await readResults(account, id)).map(({ error }) => error!.code)).toEqual(["insufficient_quota", "insufficient_quota"]);
});

test.each([true, false])("a crash while the results become a file leaves one file of results: added %s", async (isDone) => {
  const account = await newAccount();
  const id = await begin(account, { requests: lines(2) });
  await wake(id);
  await wake(id);
  const [first, second] = await openTasks(account);
  await finish(account, first!);
  const database = bindings.database();
  const original = database["batch"]!;
  let faults = 0;
  vi.spyOn(database, "batch").mockImplementation(async function (this: unknown, ...values: unknown[]) {
    const [statements] = values as [{ statement: string }[]];
    const isFile = statements[0]?.statement.includes("INSERT INTO file ") && faults === 0;
    const result = isFile && !isDone ? undefined : await original.apply(this, values);
    if (!isFile) return result;
    faults++;
    throw new Error("scripted fault");
  });
  await finish(account, second!);
  const ended = await run(account, id);
  expect([ended.status, faults]).toEqual(["completed", 1]);
  const { results } = await env.DB.prepare("SELECT id FROM file WHERE account_id = ?1 AND name = ?2").bind(account.id, `${id}.jsonl`).run();
  expect(results).toEqual([{ id: ended.results_file }]);
});

test("a task that is deleted between a file of results and the note of it leaves no file with its content", async () => {
  const account = await newAccount();
  const id = await begin(account, { requests: lines(2) });
  await wake(id);
  await wake(id);
  const [first, second] = await openTasks(account);
  await finish(account, first!);
  const isFile = (_: unknown, [statements]: unknown[]) =>
    (statements as { statement: string }[])[0]?.statement.includes("INSERT INTO file ") ?? false;
  failOnce(bindings.database(), "batch", true, 1, isFile);
  await finish(account, second!);
  const files = async () => (await call("/v1/files", { key: account.key })).body.data.map((file: { id: string }) => file.id) as string[];
  expect(await files()).toHaveLength(1);
  expect((await show(account, id)).results_file).toBeUndefined();
  expect((await call(`/v1/tasks/${first}`, { key: account.key, method: "DELETE" })).status).toBe(204);
  expect(await files()).toEqual([]);
  const ended = await run(account, id);
  await wake(id);
  const { results_file: file, status } = await show(account, ended.id);
  expect([status, await files()]).toEqual(["completed", [file]]);
  const content = await call(`/v1/files/${file}/content`, { key: account.key });
  expect(new TextDecoder().decode(content.body as ArrayBuffer).match(/"response"/g)).toHaveLength(1);
});

test("batches leave half of the open tasks to others", async () => {
  const account = await newAccount();
  const ids = [];
  for (let count = 0; count < 3; count++) {
    const id = await begin(account, { requests: lines(100), concurrency: 100 });
    ids.push(id);
    await wake(id);
    await wake(id);
  }
  const views = [];
  for (const id of ids) views.push(await show(account, id));
  expect(views.reduce((sum, { counts }) => sum + counts.running, 0)).toBe(250);
  expect(views[2]).toMatchObject({ waiting_for: "open_tasks", counts: { queued: 50 } });
  await submit(account, images, { model: "imgA-4", prompt: unique() });
});

test("a hundred batches of one account delay neither another account's batch nor single tasks of their own account", async () => {
  const [busy, other] = [await newAccount(), await newAccount()];
  const ids = [];
  for (let count = 0; count < 100; count++) ids.push(await begin(busy, { requests: lines(5), concurrency: 5 }));
  for (let turn = 0; turn < 2; turn++) for (const id of ids) await wake(id);
  // Half of the open tasks, and no more: the rest of the batches wait.
  const views = [];
  for (const id of ids) views.push(await show(busy, id));
  expect(views.reduce((sum, { counts }) => sum + counts.running, 0)).toBe(250);
  expect(views.filter(({ waiting_for: reason }) => reason === "open_tasks")).toHaveLength(50);
  const single = await submit(busy, images, { model: "imgA-4", prompt: unique() });
  expect((await finish(busy, single)).body.data.status).toBe("completed");
  // The other account's batch needs its two alarms and its tasks, as if it were alone.
  const id = await begin(other, { requests: lines(3) });
  for (let turn = 0; turn < 2; turn++) await wake(id);
  expect(await show(other, id)).toMatchObject({ counts: { running: 3 } });
  for (const task of await openTasks(other)) await finish(other, task);
  expect(await show(other, id)).toMatchObject({ counts: { running: 0, completed: 3 } });
}, 60_000);

test("a line costs at most two rows and one call of an object beyond its task", async () => {
  const account = await newAccount(100);
  const count = 96;
  const rows = (["putLine", "putPage", "write"] as const).map((method) => vi.spyOn(BatchStore.prototype, method));
  const ofTasks = (["lineReport", "exists"] as const).map((method) => vi.spyOn(TaskObject.prototype, method));
  const calls = [vi.spyOn(BatchObject.prototype, "lineEnded"), ...ofTasks];
  const id = await begin(account, { requests: lines(96), concurrency: 24 });
  const { storage, alarms } = await runInDurableObject(openBatch(id), (_, state) => ({
    storage: state.storage,
    alarms: vi.spyOn(Object.getPrototypeOf(state.storage) as DurableObjectStorage, "setAlarm"),
  }));
  expect(await run(account, id)).toMatchObject({ status: "completed", counts: { completed: count } });
  const sum = (spies: { mock: { calls: unknown[] } }[]) => spies.reduce((all, { mock }) => all + mock.calls.length, 0);
  const ownAlarms = alarms.mock.contexts.filter((one) => one === storage).length;
  const [rowsPerLine, callsPerLine] = [(sum(rows) + ownAlarms) / count, sum(calls) / count];
  expect(ownAlarms).toBeGreaterThan(0);
  expect(rowsPerLine).toBeLessThanOrEqual(2);
  expect(callsPerLine).toBeLessThanOrEqual(1);
});

test("an ended batch is shown and listed without a look at its lines, also once its object has left memory", async () => {
  const account = await newAccount();
  const ended = await run(account, await begin(account, { requests: [...lines(2), line("bad", { model: "none" })] }));
  expect(ended).toMatchObject({ status: "completed", counts: { total: 3, completed: 2, failed: 1 }, cost: { charged: 2 * price } });
  const reads = vi.spyOn(BatchStore.prototype, "sums");
  for (let turn = 0; turn < 2; turn++) {
    expect(await show(account, ended.id)).toEqual(ended);
    expect((await call("/v1/batches", { key: account.key })).body.data).toEqual([ended]);
    await forget(ended.id);
  }
  expect(reads).not.toHaveBeenCalled();
  // One that a previous release has ended.
  await runInDurableObject(openBatch(ended.id), (_, { storage }) => {
    const { sums, ...batch } = storage.kv.get<Batch>("batch")!;
    expect(sums).toEqual({ completed: 2, failed: 1, charged: 2e6 * price });
    storage.kv.put("batch", batch);
  });
  await forget(ended.id);
  expect(await show(account, ended.id)).toEqual(ended);
});

test("cancelling: nothing new begins, queued tasks are cancelled, the rest fails as cancelled", async () => {
  const account = await newAccount();
  const id = await begin(account, { requests: lines(5), concurrency: 2 });
  await wake(id);
  await wake(id);
  const [first, second] = await openTasks(account);
  await deliver(first!);
  const cancelled = await call(`/v1/batches/${id}/cancel`, { key: account.key, method: "POST" });
  expect(cancelled.status, JSON.stringify(cancelled.body)).toBe(200);
  const ended = await run(account, id);
  expect(ended).toMatchObject({ status: "cancelled", counts: { completed: 1, failed: 4 } });
  const results = await readResults(account, id);
  expect(results.filter(({ error }) => error?.code === "cancelled")).toHaveLength(4);
  expect(results.find(({ task }) => task === second)).toMatchObject({ status: "failed", cost: { charged: 0 } });
  expect(await call(`/v1/batches/${id}/cancel`, { key: account.key, method: "POST" })).toMatchObject({
    status: 409,
    body: { error: { code: "task_already_final", message: "The batch has already ended." } },
  });
  expect((await readBalance(account)).used).toBeCloseTo(price);
});

test("a line that is being checked when its batch is cancelled makes no task", async () => {
  const account = await newAccount();
  const id = await begin(account, { requests: lines(1) });
  await wake(id);
  // oxlint-disable-next-line typescript/unbound-method -- called with its object below
  const read = BatchInput.prototype.line;
  const cancelled: number[] = [];
  vi.spyOn(BatchInput.prototype, "line").mockImplementationOnce(async function (this: BatchInput, n) {
    cancelled.push((await call(`/v1/batches/${id}/cancel`, { key: account.key, method: "POST" })).status);
    return read.call(this, n);
  });
  const made = vi.spyOn(TaskObject.prototype, "create");
  expect(await run(account, id)).toMatchObject({ status: "cancelled", counts: { completed: 0, failed: 1 } });
  expect([cancelled, made.mock.calls.length]).toEqual([[200], 0]);
});

test("a batch whose object crashes right after it was cancelled cancels its queued tasks all the same", async () => {
  const account = await newAccount();
  const id = await begin(account, { requests: lines(3), concurrency: 2 });
  await wake(id);
  await wake(id);
  expect(await openTasks(account)).toHaveLength(2);
  failOnce(BatchRun.prototype as never, "cancelQueued");
  expect((await call(`/v1/batches/${id}/cancel`, { key: account.key, method: "POST" })).status).toBe(200);
  await crash(openBatch(id));
  await wake(id);
  expect(await openTasks(account)).toEqual([]);
  expect(await run(account, id)).toMatchObject({ status: "cancelled", counts: { completed: 0, failed: 3 } });
  expect(await readBalance(account)).toMatchObject({ used: 0, reserved: 0 });
});

test("the object loses its memory at every step: each line is made and charged once", async () => {
  const account = await newAccount();
  const word = unique();
  const requests = Array.from({ length: 40 }, (_, at) => line(`line-${at}`, { prompt: `${word} ${at}.` }));
  const id = await begin(account, { requests, concurrency: 7, max_cost: 40 * price });
  for (let round = 0; round < 60; round++) {
    await wake(id);
    await forget(id);
    for (const task of (await openTasks(account)).slice(0, 1 + (round % 9))) await finish(account, task);
    if (round % 3 === 0) await forget(id);
    if ((await show(account, id)).status === "completed") break;
    vi.setSystemTime(Date.now() + 5_000);
  }
  expect(await show(account, id)).toMatchObject({ status: "completed", counts: { completed: 40, failed: 0 } });
  expect((await readResults(account, id)).map(({ custom_id: own }) => own)).toEqual(requests.map(({ custom_id: own }) => own));
  expect((await readBalance(account)).used).toBeCloseTo(40 * price);
  for (let at = 0; at < 40; at++)
    expect((await upstreamCalls(`${word} ${at}.`)).filter((name) => name === "start").length).toBeLessThanOrEqual(1);
});

test("a task that does not answer after a crash of the batch's object leaves no line of the others uncounted", async () => {
  const account = await newAccount();
  const id = await begin(account, { requests: lines(3) });
  await wake(id);
  await wake(id);
  failOnce(BatchObject.prototype as never, "lineEnded", false, 3);
  for (const task of await openTasks(account)) await finish(account, task);
  await crash(openBatch(id));
  // oxlint-disable-next-line typescript/unbound-method -- called with its object below
  const original = TaskObject.prototype.lineReport;
  let asked = 0;
  vi.spyOn(TaskObject.prototype, "lineReport").mockImplementation(async function (this: TaskObject, account) {
    if (asked++ === 0) throw new Error("scripted fault");
    await scheduler.wait(100);
    return original.call(this, account);
  });
  await wake(id);
  await scheduler.wait(20);
  await wake(id);
  expect(await show(account, id)).toMatchObject({ status: "completed", counts: { completed: 3 } });
});

test("lost answers of tasks and lost reports of their ends make nothing twice", async () => {
  const account = await newAccount();
  const word = unique();
  const requests = Array.from({ length: 6 }, (_, at) => line(`line-${at}`, { prompt: `${word} ${at}.` }));
  const id = await begin(account, { requests, concurrency: 3 });
  await wake(id);
  failOnce(TaskObject.prototype as never, "create", true, 2);
  failOnce(BatchObject.prototype as never, "lineEnded", true);
  failOnce(bindings.queue(), "send", false, 1);
  expect(await run(account, id)).toMatchObject({ status: "completed", counts: { completed: 6 } });
  expect((await readBalance(account)).used).toBeCloseTo(6 * price);
  expect((await call("/v1/tasks?limit=100", { key: account.key })).body.data).toHaveLength(6);
});

test("max_cost is kept whatever ends, fails or crashes in any order", async () => {
  const step = fc.constantFrom("wake", "forget", "finish one", "finish all", "lose an answer", "lose a report", "wait");
  const body = fc.record({
    prices: fc.array(fc.constantFrom(1, 1, 2, 4), { minLength: 1, maxLength: 10 }),
    fails: fc.array(fc.boolean(), { minLength: 10, maxLength: 10 }),
    limit: fc.integer({ min: 0, max: 16 }),
    concurrency: fc.integer({ min: 1, max: 5 }),
    steps: fc.array(step, { minLength: 5, maxLength: 25 }),
  });
  await fc.assert(
    fc.asyncProperty(body, async ({ prices, fails, limit, concurrency, steps }) => {
      vi.restoreAllMocks();
      const account = await newAccount();
      const word = unique();
      const requests = prices.map((n, at) => line(`line-${at}`, { n, prompt: `${word} ${at}.` }));
      for (const at of prices.keys())
        if (fails[at]) await script({ match: `${word} ${at}.`, polls: [{ failed: "content_policy_violation" }] });
      const id = await begin(account, { requests, max_cost: limit * price, concurrency });
      const check = async () => {
        const { cost } = await show(account, id);
        expect(cost.reserved + cost.charged).toBeLessThanOrEqual(limit * price + 1e-9);
        const wallet = (await asAdmin(`/accounts/${account.id}`)).body;
        expect(wallet.used + wallet.reserved).toBeLessThanOrEqual(limit * price + 1e-9);
      };
      for (const next of steps) {
        const open = await openTasks(account);
        if (next === "wake") await wake(id);
        else if (next === "forget") await forget(id);
        else if (next === "finish one") await finish(account, open[0] ?? "task_none");
        else if (next === "finish all") for (const task of open) await finish(account, task);
        else if (next === "lose an answer") failOnce(TaskObject.prototype as never, "create", true);
        else if (next === "lose a report") failOnce(BatchObject.prototype as never, "lineEnded", false);
        else vi.setSystemTime(Date.now() + 5_000);
        await check();
      }
      vi.restoreAllMocks();
      const ended = await run(account, id);
      await check();
      expect(ended.status).toBe("completed");
      expect(await readResults(account, id)).toHaveLength(prices.length);
      const charged = (await readResults(account, id)).reduce((sum, { cost }) => sum + cost.charged, 0);
      expect((await readBalance(account)).used).toBeCloseTo(charged);
    }),
    { numRuns: 12, interruptAfterTimeLimit: 40_000 },
  );
}, 60_000);

test("one callback at the end, none for the lines", async () => {
  const account = await newAccount();
  await call("/v1/webhook", { key: account.key, method: "PUT", body: { url: "https://receiver.example/all" } });
  const sent: string[] = [];
  const original = globalThis.fetch;
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
    const request = new Request(input, init);
    if (!request.url.startsWith("https://receiver.example/")) return original(input, init);
    sent.push(`${request.headers.get("webhook-id")} ${await request.text()}`);
    return new Response(null, { status: sent.length === 1 ? 500 : 204 });
  });
  const id = await begin(account, { requests: lines(2) });
  const ended = await run(account, id);
  for (const seconds of [0, 0, 6, 3_600]) {
    vi.setSystemTime(Date.now() + seconds * 1000);
    await wake(id);
  }
  expect(sent).toHaveLength(2);
  expect(sent[0]).toBe(sent[1]);
  const event = JSON.parse(sent[0]!.slice(sent[0]!.indexOf(" ")));
  expect(event).toMatchObject({ type: "batch.completed", data: { id, status: "completed", results_file: ended.results_file } });
});

test("the receiver of a batch is called by the batch's own object, seven times at most, and removed with it after seven days", async () => {
  const account = await newAccount();
  const signatures = new Set<string | null>();
  let calls = 0;
  const original = globalThis.fetch;
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
    const request = new Request(input, init);
    if (request.url !== "https://receiver.example/dead") return original(input, init);
    calls++;
    signatures.add(request.headers.get("webhook-signature"));
    throw new Error("no answer");
  });
  const queued = vi.spyOn(Object.getPrototypeOf(env.NOTIFY) as { send: (body: object) => Promise<void> }, "send");
  const id = await begin(account, { requests: [1], callback_url: "https://receiver.example/dead" });
  expect(await run(account, id)).toMatchObject({ status: "failed" });
  for (const seconds of [1, 5, 30, 120, 600, 3_600, 21_600, 21_600, 86_400]) {
    await wake(id);
    vi.setSystemTime(Date.now() + seconds * 1000 + 1);
  }
  expect([calls, signatures.size]).toEqual([7, 7]);
  // A message would occupy a consumer of the queue, behind which calls of other accounts and settlements wait.
  expect(queued.mock.calls.filter(([message]) => JSON.stringify(message).includes(id))).toEqual([]);
  vi.setSystemTime(Date.now() + 7 * 86_400_000);
  await wake(id);
  expect(await openBatch(id).view(account.id)).toBeNull();
});

test("a key that ends stops its batch, and an ended batch is removed after seven days", async () => {
  const account = await newAccount();
  const id = await begin(account, { requests: lines(3), concurrency: 1 });
  await wake(id);
  await wake(id);
  await asAdmin(`/keys/${account.keyId}`, { method: "DELETE" });
  const key = await asAdmin(`/accounts/${account.id}/keys`, { body: { name: "other", quota: null } });
  const owner = { ...account, key: key.body.key };
  const ended = await run(owner, id);
  expect(ended).toMatchObject({ status: "completed", counts: { completed: 1, failed: 2 } });
  expect((await readResults(owner, id)).filter(({ error }) => error?.code === "unauthorized")).toHaveLength(2);
  vi.setSystemTime(Date.now() + 7 * 86_400_000 + 1000);
  await wake(id);
  expect((await call(`/v1/batches/${id}`, { key: owner.key })).status).toBe(404);
  expect((await env.ASSETS.list({ prefix: `batches/${id}/` })).objects).toEqual([]);
  expect((await call("/v1/batches", { key: owner.key })).body.data).toEqual([]);
});

test("a batch waits for its paused key, before and after its lines are checked, and for a day at most", async () => {
  const account = await newAccount();
  const owner = { ...account, key: (await asAdmin(`/accounts/${account.id}/keys`, { body: { name: "other", quota: null } })).body.key };
  const pause = (paused: boolean) => asAdmin(`/keys/${account.keyId}`, { method: "PATCH", body: { paused } });
  const id = await begin(account, { requests: lines(3), concurrency: 1 });
  await pause(true);
  await wake(id);
  expect(await show(owner, id)).toMatchObject({ status: "validating", waiting_for: "key" });
  await pause(false);
  vi.setSystemTime(Date.now() + 20_000);
  await wake(id);
  await wake(id);
  const began = await show(owner, id);
  expect(began).toMatchObject({ status: "in_progress", counts: { running: 1, queued: 2 } });
  expect(began).not.toHaveProperty("waiting_for");

  // What runs ends and is charged; nothing else begins.
  await pause(true);
  for (const task of await openTasks(owner)) await finish(owner, task);
  await wake(id);
  expect(await show(owner, id)).toMatchObject({
    status: "in_progress",
    waiting_for: "key",
    counts: { completed: 1, running: 0, queued: 2 },
  });
  vi.setSystemTime(Date.now() + 23 * 3_600_000);
  await wake(id);
  await pause(false);
  vi.setSystemTime(Date.now() + 600_000);
  expect(await run(owner, id)).toMatchObject({ status: "completed", counts: { completed: 3, failed: 0 } });

  const cancelled = await begin(account, { requests: lines(2) });
  await pause(true);
  await wake(cancelled);
  expect(await show(owner, cancelled)).toMatchObject({ status: "validating", waiting_for: "key" });
  expect((await call(`/v1/batches/${cancelled}/cancel`, { key: owner.key, method: "POST" })).status).toBe(200);
  for (let turn = 0; turn < 3; turn++) await wake(cancelled);
  expect(await show(owner, cancelled)).toMatchObject({ status: "cancelled", counts: { completed: 0, failed: 2 } });
  await pause(false);

  const other = await begin(account, { requests: lines(2) });
  await pause(true);
  await wake(other);
  vi.setSystemTime(Date.now() + 25 * 3_600_000);
  const ended = await run(owner, other);
  expect(ended).toMatchObject({ status: "completed", counts: { completed: 0, failed: 2 } });
  expect((await readResults(owner, other)).map(({ error }) => error?.code)).toEqual(["unauthorized", "unauthorized"]);
});

test("an erased account's batches are removed, and begin nothing more", async () => {
  const account = await newAccount();
  const id = await begin(account, { requests: lines(3), concurrency: 1 });
  await wake(id);
  await wake(id);
  await asAdmin(`/accounts/${account.id}`, { method: "DELETE" });
  expect(await openBatch(id).view(account.id)).toBeNull();
  expect((await env.ASSETS.list({ prefix: `batches/${id}/` })).objects).toEqual([]);
  expect(await wake(id)).toBe(false);
});

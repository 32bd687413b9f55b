/** Batches of chats: their answers and prices, and crashes at each step between the hold and the settlement. Contract 16. */

// An account of a maker that is refused stays aside in later times.
import "../../support/alone.ts";
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { BatchStore } from "../../../src/api/batches/state.ts";
import { WalletObject } from "../../../src/wallet/object.ts";
import { begin, line, openTasks, pass, price as imagePrice, readResults, run, show, openBatch, wake } from "../../support/batches.ts";
import { crash, failWalletOnce, stopAt } from "../../support/faults.ts";
import { buckets, origin, setDestination } from "../../support/bucket.ts";
import {
  type Account,
  alarm,
  asAdmin,
  call,
  finish,
  holdTime,
  newAccount,
  readBalance,
  script,
  unique,
  upstreamCalls,
} from "../../support/gateway.ts";

beforeEach(holdTime);
afterEach(() => void vi.useRealTimers());

const chat = (id: string, content: string, more: object = {}) => ({
  custom_id: id,
  endpoint: "/v1/chat/completions",
  body: { model: "textA-1", messages: [{ role: "user", content }], max_tokens: 50, ...more },
});
/** 10 prompt tokens at 2 and 2 completion tokens at 8 millionths each. */
const price = 0.000036;
const chats = (word: string, count: number) => Array.from({ length: count }, (_, at) => chat(`chat-${at}`, `${word} ${at}.`));

/** Answers the chats in place of the upstream, by their first message. */
function answerChats(answer: (content: string) => Promise<object> | object): void {
  const upstream = Object.getPrototypeOf(env.SANDBOX) as Fetcher;
  // oxlint-disable-next-line typescript/unbound-method -- called with its object below
  const original = upstream.fetch;
  vi.spyOn(upstream, "fetch").mockImplementation(async function (this: unknown, ...values: Parameters<Fetcher["fetch"]>) {
    const request = new Request(...values);
    if (request.url !== "http://sandbox/v1/chat/completions") return original.apply(this, [request]);
    const { messages } = (await request.json()) as { messages: { content: string }[] };
    const usage = { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 };
    const message = { role: "assistant", ...(await answer(messages[0]!.content)) };
    return Response.json({ choices: [{ index: 0, message, finish_reason: "stop" }], usage });
  });
}

/** Answers the chats when `answer` is called, and counts them. */
function keepWaiting(): { asked: number; answer: () => void } {
  const gate = Promise.withResolvers<void>();
  const held = { asked: 0, answer: gate.resolve };
  answerChats(async () => {
    held.asked++;
    await gate.promise;
    return { content: "at last" };
  });
  return held;
}

async function expectEach(account: Account, id: string, count: number): Promise<void> {
  const results = await readResults(account, id);
  expect(results.map(({ custom_id: own, status }) => [own, status])).toEqual(
    Array.from({ length: count }, (_, at) => [`chat-${at}`, "completed"]),
  );
  const balance = await readBalance(account);
  expect([balance.used, balance.reserved]).toEqual([expect.closeTo(count * price, 9), 0]);
  expect((await show(account, id)).cost).toMatchObject({ reserved: 0, charged: expect.closeTo(count * price, 9) });
}

test("chats and images are lines of one batch: whole answers in the order of the input, each asked and charged once", async () => {
  const account = await newAccount();
  const word = unique();
  const requests = [
    ...chats(word, 12),
    line("image"),
    chat("refused", "sandbox:reject"),
    chat("failed", "sandbox:fail"),
    chat("streamed", "x", { stream: true }),
    chat("unknown", "x", { model: "none" }),
    chat("roles", "x", { messages: [{ role: "nobody", content: "x" }] }),
  ];
  const ended = await run(account, await begin(account, { requests, max_cost: 1 }));
  expect(ended).toMatchObject({ status: "completed", counts: { total: 18, completed: 13, failed: 5 } });
  const results = await readResults(account, ended.id);
  const [first] = results;
  expect(first).toEqual({
    custom_id: "chat-0",
    status: "completed",
    response: expect.objectContaining({
      object: "chat.completion",
      model: "textA-1",
      choices: [{ index: 0, message: expect.objectContaining({ content: "Hello there" }), finish_reason: "stop" }],
    }),
    cost: { reserved: expect.any(Number), charged: price, returned: expect.any(Number) },
  });
  expect(results.slice(12).map(({ custom_id: own, error }) => [own, error?.code, error?.param])).toEqual([
    ["image", undefined, undefined],
    ["refused", "content_policy_violation", null],
    ["failed", "internal_error", null],
    ["streamed", "invalid_request", "stream"],
    ["unknown", "model_not_found", "model"],
    ["roles", "invalid_request", "messages[0].role"],
  ]);
  for (let at = 0; at < 12; at++) expect(await upstreamCalls(`${word} ${at}.`)).toEqual(["chat"]);
  const balance = await readBalance(account);
  expect([balance.used, balance.reserved]).toEqual([expect.closeTo(12 * price + imagePrice, 9), 0]);
});

test("chats and failed lines count as no delivery, and a repeat leaves them out", async () => {
  const account = await newAccount();
  const { at } = buckets([origin]);
  await setDestination(account);
  await setDestination(account, {}, "own");
  const flagged = unique();
  await script({ match: flagged, polls: [{ failed: "content_policy_violation" }] });
  const own = line("own", { deliver_to: { destination: "own" } });
  const requests = [...chats(unique(), 2), line("image"), line("flagged", { prompt: flagged }), own];
  const id = await begin(account, { requests, deliver_to: { destination: "shop" } });
  const ended = await run(account, id);
  expect(ended).toMatchObject({ counts: { completed: 4, failed: 1 }, deliveries: { pending: 2, delivered: 0, failed: 0 } });
  await call("/v1/destinations/own", { key: account.key, method: "DELETE" });
  const tasks = (await readResults(account, id)).flatMap(({ task, status }) => (status === "completed" && task ? [task] : []));
  expect(tasks).toHaveLength(2);
  for (const task of tasks) for (let step = 0; step < 3; step++) await alarm(task);
  expect((await show(account, id)).deliveries).toEqual({ pending: 0, delivered: 1, failed: 1 });
  const again = await call(`/v1/batches/${id}/delivery`, { key: account.key, method: "POST" });
  expect(again.body.deliveries).toEqual({ pending: 1, delivered: 1, failed: 0 });
  expect(at[origin]!.objects.size).toBe(1);
  // A batch without deliver_to counts those of its lines; one of chats alone has nothing to deliver.
  const alone = await run(
    account,
    await begin(account, { requests: [...chats(unique(), 1), { ...own, body: { ...own.body, deliver_to: { destination: "shop" } } }] }),
  );
  expect(alone.deliveries).toEqual({ pending: 1, delivered: 0, failed: 0 });
  const talk = await run(account, await begin(account, { requests: chats(unique(), 2), deliver_to: { destination: "shop" } }));
  expect(talk.deliveries).toEqual({ pending: 0, delivered: 0, failed: 0 });
});

test("a chat beyond max_cost fails and costs nothing; a returned part of a hold is used again", async () => {
  const account = await newAccount();
  const word = unique();
  const id = await begin(account, { requests: chats(word, 1) });
  await wake(id);
  const { cost } = await show(account, id);
  const held = cost.expected as number;
  expect(held).toBeGreaterThan(5 * price);
  // One hold and one answer: the second chat fits only after the first one has returned its rest.
  const ended = await run(account, await begin(account, { requests: chats(unique(), 3), max_cost: held + price }));
  expect(ended).toMatchObject({ counts: { completed: 2, failed: 1 } });
  const failed = (await readResults(account, ended.id)).at(-1)!;
  expect([failed.error!.code, failed.cost.charged]).toEqual(["cost_limit_exceeded", 0]);
  expect(ended.cost.charged).toBeCloseTo(2 * price, 9);
});

test.each([
  ["the hold is made and its answer lost", WalletObject, "reserve", true],
  ["the hold is not made", WalletObject, "reserve", false],
  ["the settlement is made and its answer lost", WalletObject, "settle", true],
  ["the settlement is not made", WalletObject, "settle", false],
] as const)("a crash while %s: every chat is answered and charged once", async (_, object, method, isDone) => {
  const account = await newAccount();
  const word = unique();
  const id = await begin(account, { requests: chats(word, 3), max_cost: 1 });
  await wake(id);
  const reached = stopAt(object.prototype as never, method, isDone);
  // The alarm does not return, because the call never does.
  void wake(id).catch(() => undefined);
  await reached();
  vi.restoreAllMocks();
  await crash(openBatch(id));
  expect(await run(account, id)).toMatchObject({ status: "completed", counts: { completed: 3 } });
  await expectEach(account, id, 3);
});

test("an answer whose line cannot be written is lost, asked for again, and charged once", async () => {
  const account = await newAccount();
  const word = unique();
  const id = await begin(account, { requests: chats(word, 2) });
  await wake(id);
  const lost = vi.spyOn(BatchStore.prototype, "putLine").mockImplementationOnce(() => {
    throw new Error("scripted fault");
  });
  await wake(id);
  expect(lost).toHaveBeenCalled();
  await crash(openBatch(id));
  expect(await run(account, id)).toMatchObject({ status: "completed", counts: { completed: 2 } });
  await expectEach(account, id, 2);
});

test("answers that are longer than a row of the storage are asked for once, charged once, and whole in the results", async () => {
  const account = await newAccount();
  // Two bytes of UTF-8 and half of a pair at each end of a part.
  const contents: Record<string, string> = { long: "a" + "🦊é".repeat(1_000_000), short: "b", "too long": "c".repeat(9_000_000) };
  const asked: string[] = [];
  answerChats((name) => {
    asked.push(name);
    return { content: contents[name] };
  });
  const id = await begin(account, { requests: Object.keys(contents).map((name) => chat(name, name)) });
  const ended = await run(account, id);
  expect(ended).toMatchObject({ status: "completed", counts: { completed: 2, failed: 1 } });
  expect(asked.toSorted()).toEqual(Object.keys(contents).toSorted());
  const rows = await runInDurableObject(openBatch(id), (_, { storage }) =>
    storage.sql.exec<{ most: number }>("SELECT max(length(CAST(result AS BLOB))) AS most FROM line").one(),
  );
  expect(rows.most).toBeLessThan(1_000_000);
  const results = await readResults(account, id);
  expect(results.map(({ custom_id: own, status, error }) => [own, status, error?.code])).toEqual([
    ["long", "completed", undefined],
    ["short", "completed", undefined],
    ["too long", "failed", "internal_error"],
  ]);
  const { choices } = results[0]!.response as unknown as { choices: { message: { content: string } }[] };
  expect(choices[0]!.message.content === contents["long"]).toBe(true);
  const balance = await readBalance(account);
  // The usage of an answer that is too long is not known: its bytes count, up to the hold.
  const { cost } = results[2]!;
  expect([cost.charged, cost.returned]).toEqual([cost.reserved, 0]);
  expect([balance.used, balance.reserved]).toEqual([expect.closeTo(2 * price + cost.charged, 9), 0]);
  expect(ended.cost.charged).toBeCloseTo(balance.used, 9);
  const file = await call(`/v1/files/${ended.results_file}/content`, { key: account.key });
  expect((file.body as ArrayBuffer).byteLength).toBeGreaterThan(6_000_000);
});

test("a chat that takes long holds up no other alarm: cancelled, the lines that have not begun end while it runs", async () => {
  const account = await newAccount();
  const held = keepWaiting();
  const id = await begin(account, { requests: chats(unique(), 2), concurrency: 1 });
  await wake(id);
  const first = wake(id);
  await expect.poll(() => held.asked).toBe(1);
  vi.setSystemTime(Date.now() + 61_000);
  await first;
  const second = wake(id);
  await call(`/v1/batches/${id}/cancel`, { key: account.key, method: "POST" });
  await second;
  const third = wake(id);
  await expect.poll(async () => (await show(account, id)).counts).toMatchObject({ running: 1, failed: 1 });
  held.answer();
  await third;
  await expect.poll(async () => (await show(account, id)).status).toBe("cancelled");
  expect(held.asked).toBe(1);
  expect(await readBalance(account)).toMatchObject({ used: price, reserved: 0 });
});

test("chats fail, unasked and free, once the results of their batch have 2 GiB; other lines go on", async () => {
  const account = await newAccount();
  const word = unique();
  vi.spyOn(BatchStore.prototype, "size", "get").mockReturnValue(2049 * 2 ** 20);
  const id = await begin(account, { requests: [...chats(word, 2), line("image")] });
  expect(await run(account, id)).toMatchObject({ status: "completed", counts: { completed: 1, failed: 2 } });
  const [first] = await readResults(account, id);
  expect([first!.error, first!.cost.charged]).toEqual([
    { code: "invalid_request", message: "results: must be at most 2048 MiB", param: "results" },
    0,
  ]);
  expect(await upstreamCalls(`${word} 0.`)).toEqual([]);
});

test("the size of a batch is that of what its object stores", async () => {
  const id = await begin(await newAccount(), { requests: chats(unique(), 1) });
  await wake(id);
  const size = await runInDurableObject(openBatch(id), (_, { storage }) => new BatchStore(storage).size);
  expect(size).toBeGreaterThan(4_000);
});

/** Holds this many chats of the account in its wallet. Returns a function that ends them. */
async function holdChats({ id: accountId, keyId }: Account, count: number): Promise<() => Promise<void>> {
  const wallet = env.WALLETS.getByName(accountId);
  const charges = Array.from({ length: count }, (_, at) => ({
    taskId: `open-${at}`,
    accountId,
    keyId,
    kind: "chat" as const,
    model: "textA-1",
  }));
  for (const charge of charges) await wallet.reserve(charge, 1, { deadline: Date.now() + 900_000 });
  return async () => {
    for (const charge of charges) await wallet.settle(charge, 0, "provider_error");
  };
}

test("chats of batches leave half of what an account may have open to others, like tasks", async () => {
  const account = await newAccount();
  const settleChats = await holdChats(account, 249);
  const gate = Promise.withResolvers<void>();
  let asked = 0;
  answerChats(async (content) => {
    if (content.startsWith("batch")) {
      asked++;
      await gate.promise;
    }
    return { content: "an answer" };
  });
  const id = await begin(account, { requests: chats("batch", 3) });
  await wake(id);
  const first = wake(id);
  await expect.poll(async () => show(account, id)).toMatchObject({ waiting_for: "open_tasks", counts: { running: 1, queued: 2 } });
  expect(asked).toBe(1);
  expect((await call("/v1/chat/completions", { key: account.key, body: chat("", "single").body })).status).toBe(200);
  await settleChats();
  gate.resolve();
  await first;
  expect(await run(account, id)).toMatchObject({ status: "completed", counts: { completed: 3 } });
});

test("a line whose id the wallet has closed gets another id", async () => {
  const account = await newAccount();
  const id = await begin(account, { requests: [line("image"), chat("chat", unique())] });
  await wake(id);
  const assigned = await runInDurableObject(openBatch(id), (_, { storage }) =>
    new BatchStore(storage).page(0)!.assigned.map((one) => one![0]),
  );
  const { id: accountId, keyId } = account;
  for (const taskId of assigned)
    await env.WALLETS.getByName(accountId).settle({ taskId, accountId, keyId, kind: "chat", model: "textA-1" }, 0, "refused");
  expect(await run(account, id)).toMatchObject({ status: "completed", counts: { completed: 2 } });
});

test("chats with large files wait for memory as long as it takes, however many batches of an account have them", async () => {
  const account = await newAccount();
  const picture = new Uint8Array(5 * 1024 * 1024);
  picture.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const file = (await call("/v1/files", { key: account.key, method: "POST", body: picture.buffer })).body.id as string;
  const content = [{ type: "image_url", image_url: { url: file, detail: "low" } }];
  const held = keepWaiting();
  const requests = chats("", 6).map((one) => ({ ...one, body: { ...one.body, messages: [{ role: "user", content }] } }));
  const ids = [await begin(account, { requests }), await begin(account, { requests })];
  for (const id of ids) await wake(id);
  for (const id of ids) void wake(id).catch(() => undefined);
  await expect.poll(() => held.asked).toBe(1);
  await scheduler.wait(500);
  for (const id of ids) expect(await show(account, id)).toMatchObject({ counts: { running: 6, failed: 0 } });
  expect(held.asked).toBe(1);
  held.answer();
  for (const id of ids) expect(await run(account, id)).toMatchObject({ counts: { completed: 6, failed: 0 } });
  expect(held.asked).toBe(12);
});

test("faults of the wallet between two alarms hold and charge nothing twice", async () => {
  for (const [method, isDone] of [
    ["reserve", true],
    ["reserve", false],
    ["settle", true],
    ["settle", false],
  ] as const) {
    const account = await newAccount();
    const id = await begin(account, { requests: chats(unique(), 4), max_cost: 1 });
    await wake(id);
    failWalletOnce(account, method, isDone, 2);
    expect(await run(account, id), `${method} ${isDone}`).toMatchObject({ status: "completed", counts: { completed: 4 } });
    await expectEach(account, id, 4);
    vi.restoreAllMocks();
  }
});

test("without balance chats wait, and cancelling ends what has not begun", async () => {
  const account = await newAccount(0.0001);
  const id = await begin(account, { requests: chats(unique(), 3) });
  for (let turn = 0; turn < 3; turn++) {
    await wake(id);
    vi.setSystemTime(Date.now() + 20_000);
  }
  expect(await show(account, id)).toMatchObject({ status: "in_progress", waiting_for: "balance", counts: { completed: 0 } });
  await asAdmin(`/accounts/${account.id}`, { method: "PATCH", body: { add: 1 } });
  expect((await call(`/v1/batches/${id}/cancel`, { key: account.key, method: "POST" })).status).toBe(200);
  expect(await run(account, id)).toMatchObject({ status: "cancelled", counts: { failed: 3 } });
  expect(await readBalance(account)).toMatchObject({ used: 0, reserved: 0 });
});

test("lines of one kind go ahead of those of another that have no room: images of slow chats, and chats of a busy model", async () => {
  const account = await newAccount();
  const held = keepWaiting();
  const images = Array.from({ length: 5 }, (_, at) => line(`image-${at}`));
  const id = await begin(account, { requests: [...chats(unique(), 40), ...images], concurrency: 9 });
  await wake(id);
  void wake(id).catch(() => undefined);
  await expect.poll(async () => (await show(account, id)).counts).toMatchObject({ running: 9, queued: 36 });
  // One connection of the object is left for tasks, until all of them have begun.
  expect([held.asked, (await openTasks(account)).length]).toEqual([5, 4]);
  for (const task of await openTasks(account)) await finish(account, task);
  await expect.poll(() => held.asked).toBe(6);
  // Also after a crash, which leaves each line once.
  await crash(openBatch(id));
  held.answer();
  const ended = await run(account, id);
  expect(ended).toMatchObject({ status: "completed", counts: { completed: 45, failed: 0 } });
  expect((await readResults(account, id)).map(({ custom_id: own }) => own)).toEqual([
    ...Array.from({ length: 40 }, (_, at) => `chat-${at}`),
    ...images.map(({ custom_id: own }) => own),
  ]);
  expect((await call("/v1/tasks?limit=100", { key: account.key })).body.data).toHaveLength(5);
  const balance = await readBalance(account);
  expect([balance.used, balance.reserved]).toEqual([expect.closeTo(40 * price + 5 * imagePrice, 9), 0]);
});

test("chats that have no room among the account's open ones hold up no image", async () => {
  const account = await newAccount();
  const settleChats = await holdChats(account, 250);
  const id = await begin(account, { requests: [...chats(unique(), 8), line("image")] });
  await wake(id);
  await wake(id);
  expect(await show(account, id)).toMatchObject({ waiting_for: "open_tasks", counts: { running: 1, queued: 8 } });
  expect(await openTasks(account)).toHaveLength(1);
  await settleChats();
  expect(await run(account, id)).toMatchObject({ status: "completed", counts: { completed: 9 } });
});

describe("a maker that asks to wait", () => {
  /** Answers chats of `busy` models with 429, or this status, while it is on; returns the times at which they were asked. */
  function makeBusy(
    isBusy: (model: string) => boolean,
    given: number | ((model: string) => number) = 429,
    retryAfter = given !== 502,
  ): { model: string; at: number }[] {
    const asked: { model: string; at: number }[] = [];
    const upstream = Object.getPrototypeOf(env.SANDBOX) as Fetcher;
    // oxlint-disable-next-line typescript/unbound-method -- called with its object below
    const original = upstream.fetch;
    vi.spyOn(upstream, "fetch").mockImplementation(async function (this: unknown, ...values: Parameters<Fetcher["fetch"]>) {
      const request = new Request(...values);
      if (request.url !== "http://sandbox/v1/chat/completions") return original.apply(this, [request]);
      const { model } = (await request.json()) as { model: string };
      asked.push({ model, at: Date.now() });
      const status = typeof given === "number" ? given : given(model);
      if (isBusy(model))
        return Response.json({ error: { message: "slow down" } }, { status, headers: retryAfter ? { "retry-after": "30" } : {} });
      const usage = { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 };
      return Response.json({ choices: [{ index: 0, message: { role: "assistant", content: "x" }, finish_reason: "stop" }], usage });
    });
    return asked;
  }
  test("gets the chats of that model again for hours, at no cost; other models and images do not wait", async () => {
    const account = await newAccount();
    let isBusy = true;
    const asked = makeBusy((model) => isBusy && model === "textA-1");
    const other = chats(unique(), 8).map((one) => ({
      ...one,
      custom_id: `other-${one.custom_id}`,
      body: { ...one.body, model: "textA-1-mini" },
    }));
    const id = await begin(account, { requests: [...chats(unique(), 8), ...other, line("image")], max_cost: 1 });
    await wake(id);
    await wake(id);
    expect(asked.filter(({ model }) => model === "textA-1-mini")).toHaveLength(8);
    const first = asked.filter(({ model }) => model === "textA-1").length;
    expect(first).toBeLessThanOrEqual(6);
    await pass(account, id, 5);
    expect(await show(account, id)).toMatchObject({ status: "in_progress", counts: { completed: 9, failed: 0, running: 0, queued: 8 } });
    const { used, reserved } = await readBalance(account);
    const { cost } = await show(account, id);
    expect([reserved, cost.reserved, cost.charged]).toEqual([0, 0, expect.closeTo(used, 9)]);
    // First after the time that the maker asks for, then less and less often.
    expect(asked.filter(({ model }) => model === "textA-1").length).toBeLessThan(100);
    await crash(openBatch(id));
    isBusy = false;
    await pass(account, id, 1);
    expect(await show(account, id)).toMatchObject({ status: "completed", counts: { completed: 17, failed: 0 } });
    expect((await readBalance(account)).reserved).toBe(0);
    // Attempts at a busy maker are no failures of the account.
    const usage = (await call("/v1/usage?group_by=model", { key: account.key })).body.data as { model: string }[];
    expect(usage.find(({ model }) => model === "textA-1")).toMatchObject({ completed: 8, failed: 0 });
  });

  test.each([401, 404])("by refusing the operator's account, or without the model, gets the chats again too: %i", async (status) => {
    const account = await newAccount();
    let isRefused = true;
    makeBusy(() => isRefused, status, false);
    const id = await begin(account, { requests: chats(unique(), 4) });
    await wake(id);
    await pass(account, id, 0.5);
    expect(await show(account, id)).toMatchObject({ status: "in_progress", counts: { completed: 0, failed: 0 } });
    isRefused = false;
    await pass(account, id, 1);
    expect(await show(account, id)).toMatchObject({ status: "completed", counts: { completed: 4, failed: 0 } });
  });

  test.each([false, true])(
    "or is down is asked less and less often; a chat that it may have answered fails, and is not asked again: %s",
    async (retryAfter) => {
      const account = await newAccount();
      let isDown = true;
      const asked = makeBusy(() => isDown, 502, retryAfter);
      const id = await begin(account, { requests: chats(unique(), 90) });
      await wake(id);
      await pass(account, id, 1);
      const { status, counts } = await show(account, id);
      expect([status, counts.completed, counts.failed]).toEqual(["in_progress", 0, asked.length]);
      expect(counts.failed).toBeLessThan(80);
      isDown = false;
      await pass(account, id, 1);
      expect(await show(account, id)).toMatchObject({
        status: "completed",
        counts: { completed: 90 - counts.failed, failed: counts.failed },
      });
      expect(asked).toHaveLength(90);
    },
  );

  test.each([
    ["bills that it did not answer", 429, [{ cost: { input: 1, output: 1 }, bills_failures: true }]],
    ["follows one that may have answered", (model: string) => (model.endsWith("0") ? 502 : 429), [{}, {}]],
  ])("and %s is not asked again for a day: each repetition could cost the operator", async (_, status, makers) => {
    const account = await newAccount();
    const asked = makeBusy(() => true, status);
    const model = unique();
    const routes = makers.map((maker, at) => ({ provider: "sandbox", model: `${model}${at}`, ...maker }));
    const added = await asAdmin(`/models/${model}`, { method: "PUT", body: { kind: "text", price: { input: 2, output: 8 }, routes } });
    expect(added.status, JSON.stringify(added.body)).toBe(201);
    vi.setSystemTime(Date.now() + 10_000);
    const requests = chats(unique(), 2).map((one) => ({ ...one, body: { ...one.body, model } }));
    const id = await begin(account, { requests });
    await wake(id);
    await pass(account, id, 1);
    expect(await show(account, id)).toMatchObject({ status: "completed", counts: { failed: 2 } });
    expect((await readResults(account, id)).map(({ error }) => error!.code)).toEqual(["unavailable", "unavailable"]);
    expect(asked).toHaveLength(2 * makers.length);
    // Files after this one see the runtime's catalogue.
    expect((await asAdmin(`/models/${model}?revision=${added.body.revision}`, { method: "DELETE" })).status).toBe(204);
    vi.setSystemTime(Date.now() + 10_000);
    await call("/v1/models", { key: account.key });
  });

  test("for a day fails the chats of that model, the last ones unasked, and the batch ends", async () => {
    const account = await newAccount();
    const asked = makeBusy(() => true);
    const id = await begin(account, { requests: chats(unique(), 20) });
    await wake(id);
    await pass(account, id, 23.8);
    expect(await show(account, id)).toMatchObject({ status: "in_progress", counts: { queued: 20 } });
    await crash(openBatch(id));
    await pass(account, id, 1);
    expect(await show(account, id)).toMatchObject({ status: "completed", counts: { completed: 0, failed: 20 } });
    const results = await readResults(account, id);
    for (const { error, cost } of results) expect([error!.code, cost.charged]).toEqual(["unavailable", 0]);
    expect(asked.length).toBeLessThan(220);
    expect(await readBalance(account)).toMatchObject({ used: 0, reserved: 0 });
  });
});

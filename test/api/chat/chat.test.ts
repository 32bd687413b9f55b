/** Chat completions: OpenAI's shapes, whole and streamed, and what each way of ending costs. Interface 4.1, contract 1 and 4. */

import { env, exports } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import type { ChatCall } from "../../../src/wallet/line.ts";
import { WalletObject } from "../../../src/wallet/object.ts";
import { capture } from "../../providers/support.ts";
import { conform } from "../../support/conform.ts";
import { bindings, failOnce, failWalletOnce, spyOn, stopAt } from "../../support/faults.ts";
import {
  type Account,
  asAdmin,
  call,
  newAccount,
  readBalance,
  settledBalance,
  unique,
  upstreamCalls,
  wakeWallet,
} from "../../support/gateway.ts";

const path = "/v1/chat/completions";
const chat = (content: string, more: object = {}) => ({ model: "textA-1", messages: [{ role: "user", content }], ...more });
/** 10 prompt tokens at 2 and 2 completion tokens at 8 millionths each. */
const price = 0.000036;

async function stream(account: Account, content: string, more: object = {}): Promise<Response> {
  const body = JSON.stringify(chat(content, { stream: true, ...more }));
  const headers = { authorization: `Bearer ${account.key}`, "content-type": "application/json" };
  return exports.default.fetch(`https://gateway.example${path}`, { method: "POST", headers, body });
}

const readEvents = (text: string) =>
  text
    .split("\n\n")
    .filter((event) => event !== "")
    .map((event) => event.replace(/^data: /, ""));

const readContent = (chunks: { choices: { delta: { content?: string } }[] }[]) =>
  chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta.content ?? "")).join("");

test("a balance or usage that is asked for after an answer has what the chat cost", async () => {
  for (const ask of ["/v1/balance", "/v1/user/balance", "/v1/key", "/v1/usage?group_by=model"]) {
    const account = await newAccount();
    expect((await call(path, { key: account.key, body: chat("hello") })).status).toBe(200);
    const { body } = await call(ask, { key: account.key });
    const [row] = body.data ?? [];
    expect([ask, body.used_balance ?? body.used ?? row?.charged]).toEqual([ask, price]);
  }
});

test("a whole answer has our own id and model name, and is charged by its usage to the millionth", async () => {
  const account = await newAccount(1, 1);
  const { status, headers, body } = await call(path, { key: account.key, body: chat("hi") });
  expect(status).toBe(200);
  expect(headers.get("content-type")).toMatch(/^application\/json/);
  expect(body).toEqual({
    id: expect.stringMatching(/^chatcmpl-[A-Za-z0-9]+$/),
    object: "chat.completion",
    created: expect.any(Number),
    model: "textA-1",
    choices: [{ index: 0, message: { role: "assistant", content: "Hello there" }, finish_reason: "stop" }],
    usage: { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 },
  });
  expect(await settledBalance(account)).toEqual({ quota: 1, reserved: 0, used: price, remaining: 0.999964 });
  const balance = await call("/v1/balance", { key: account.key });
  expect(balance.body).toEqual({ success: true, remain_balance: 0.999964, used_balance: price, unlimited_quota: false });
});

test("each model has its own price, and fractions of a millionth are rounded up", async () => {
  const account = await newAccount();
  const { body } = await call(path, { key: account.key, body: { ...chat("hi"), model: "textA-1-mini" } });
  expect(body.model).toBe("textA-1-mini");
  expect(await settledBalance(account)).toMatchObject({ reserved: 0, used: 0.000004 });
});

test("content may be a list of parts", async () => {
  const account = await newAccount();
  const messages = [{ role: "user", content: [{ type: "text", text: "hi" }] }];
  expect((await call(path, { key: account.key, body: { model: "textA-1", messages } })).status).toBe(200);
});

test.each([false, true])(
  "a stream ends with [DONE] and contains the usage only when requested: include_usage %s",
  async (include_usage) => {
    const account = await newAccount(1);
    const response = await stream(account, "hi", { stream_options: { include_usage } });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
    const text = await response.text();
    conform("POST", `https://gateway.example${path}`, { status: 200, headers: response.headers, body: text });
    const events = readEvents(text);
    expect(events.at(-1)).toBe("[DONE]");
    const chunks = events.slice(0, -1).map((event) => JSON.parse(event));
    const id = chunks[0].id as string;
    expect(id).toMatch(/^chatcmpl-/);
    for (const chunk of chunks)
      expect(chunk).toMatchObject({ id, object: "chat.completion.chunk", model: "textA-1", created: expect.any(Number) });
    expect(readContent(chunks)).toBe("Hello there");
    const usage = { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 };
    if (include_usage) expect(chunks.at(-1)).toMatchObject({ choices: [], usage });
    else expect(chunks.some((chunk) => "usage" in chunk || chunk.choices.length === 0)).toBe(false);
    expect(await settledBalance(account)).toEqual({ quota: 1, reserved: 0, used: price, remaining: 0.999964 });
  },
);

test("while a chat runs, its prompt and max_tokens (default 4096) are reserved", async () => {
  const account = await newAccount();
  const reservedFor = async (more: object) => {
    const response = await stream(account, "hi", more);
    const { reserved } = (await asAdmin(`/accounts/${account.id}`)).body;
    await response.text();
    await settledBalance(account);
    return Math.round(reserved * 1e6);
  };
  const prompt = (await reservedFor({ max_tokens: 1 })) - 8;
  expect(prompt).toBeGreaterThanOrEqual(20);
  expect(await reservedFor({ max_tokens: 1000 })).toBe(prompt + 8 * 1000);
  expect(await reservedFor({})).toBe(prompt + 8 * 4096);
});

test.each([
  ["sandbox:reject", 422, "content_policy_violation"],
  ["sandbox:fail", 500, "internal_error"],
])("%s in the last message is refused with %i and costs nothing, streamed or not", async (directive, status, code) => {
  const account = await newAccount();
  for (const more of [{}, { stream: true }]) {
    const answer = await call(path, { key: account.key, body: chat(`${directive} ${unique()}`, more) });
    expect(answer.status).toBe(status);
    expect(answer.body).toEqual({ error: { message: expect.any(String), type: code, code, param: null } });
  }
  expect(await settledBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test.each([
  ["the account", 0.001, null],
  ["the key", null, 0.001],
])("a quota of %s below the reservation is 402, and the upstream is not called", async (_, quota, keyQuota) => {
  const account = await newAccount(quota, keyQuota);
  const prompt = unique();
  const answer = await call(path, { key: account.key, body: chat(prompt) });
  expect(answer.status).toBe(402);
  expect(answer.body).toEqual({
    error: { message: "The balance is insufficient.", type: "insufficient_quota", code: "insufficient_quota", param: null },
  });
  expect(await upstreamCalls(prompt)).toEqual([]);
  expect(await settledBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test.each([{}, { stream: true }])("without a usage report the charge is an estimate, never above the reservation: %j", async (more) => {
  const account = await newAccount();
  await call(path, { key: account.key, body: chat("no-usage", { max_tokens: 1, ...more }) });
  const { reserved, used } = await settledBalance(account);
  expect(reserved).toBe(0);
  expect(used).toBeGreaterThan(0.000008);
  expect(used).toBeLessThan(0.0002);
});

test("a broken stream is charged for what was sent, and does not look complete", async () => {
  const account = await newAccount();
  const response = await stream(account, `break ${unique()}`);
  const seen: string[] = [];
  const read = async () => {
    for await (const text of response.body!.pipeThrough(new TextDecoderStream())) seen.push(text);
  };
  await expect(read()).rejects.toThrow();
  expect(seen.join("")).toContain("Hello");
  expect(seen.join("")).not.toContain("[DONE]");
  const { reserved, used } = await settledBalance(account);
  expect(reserved).toBe(0);
  expect(used).toBeGreaterThan(0);
});

test("the error event of a broken stream is sent some time before the connection breaks, which drops what is on its way", async () => {
  const response = await stream(await newAccount(), `break ${unique()}`);
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes('{"error":{')) text += (await reader.read()).value;
  const next = reader.read().then(
    () => "more",
    () => "broken",
  );
  expect(await Promise.race([next, scheduler.wait(30).then(() => "open")])).toBe("open");
  expect(await next).toBe("broken");
});

test("a caller that disconnects is charged by the upstream's usage report, and nothing stays reserved", async () => {
  const account = await newAccount();
  const response = await stream(account, "hi");
  const reader = response.body!.getReader();
  await reader.read();
  await reader.cancel();
  expect(await settledBalance(account)).toMatchObject({ reserved: 0, used: price });
});

test("a caller that disconnects before a whole answer is charged by the upstream's usage report", async () => {
  const account = await newAccount();
  const hangUp = new AbortController();
  const held = vi.spyOn(WalletObject.prototype, "reserve");
  const init = {
    method: "POST",
    headers: { authorization: `Bearer ${account.key}`, "content-type": "application/json" },
    body: JSON.stringify(chat("hi")),
    signal: hangUp.signal,
  };
  const answer = exports.default.fetch(`https://gateway.example${path}`, init).catch(() => "hung up");
  for (let turn = 0; held.mock.settledResults[0]?.type !== "fulfilled" && turn < 1_000; turn++) await scheduler.wait(1);
  hangUp.abort();
  expect(await answer).toBe("hung up");
  expect(await settledBalance(account)).toMatchObject({ reserved: 0, used: price });
});

test("when a Worker crashes between answer and settlement, the caller has its answer, and the hold ends at its deadline at nothing", async () => {
  const account = await newAccount(1);
  await call(path, { key: account.key, body: chat("hi") });
  expect(await settledBalance(account)).toMatchObject({ reserved: 0, used: price });
  // The isolate dies while the settlement gathers.
  const waits = vi.spyOn(scheduler, "wait").mockReturnValue(new Promise(() => undefined));
  expect((await call(path, { key: account.key, body: chat("hi") })).status).toBe(200);
  expect(waits.mock.calls).toEqual([[50]]);
  waits.mockRestore();
  // Asked of the wallet itself: this isolate, which has not died, would settle the chat when it is asked.
  const ask = async () => (await env.WALLETS.getByName(account.id).balances())[account.id];
  const { reserved = 0 } = (await ask()) ?? {};
  expect(reserved).toBeGreaterThan(0);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 840_000 });
  await wakeWallet(account);
  expect(await ask()).toMatchObject({ reserved, used: price * 1e6 });
  vi.setSystemTime(Date.now() + 61_000);
  expect(await wakeWallet(account)).toBe(true);
  expect(await ask()).toMatchObject({ quota: 1e6, reserved: 0, used: price * 1e6 });
  expect(await readBalance(account)).toEqual({ quota: 1, reserved: 0, used: price, remaining: 0.999964 }); // also after a late settlement
  vi.useRealTimers();
});

test("when a Worker crashes while it settles, the wallet's alarm returns the reservation once", async () => {
  const account = await newAccount();
  const reached = stopAt(WalletObject.prototype as never, "chats", false, (_, [calls]) => "outcome" in (calls as ChatCall[])[0]!);
  void call(path, { key: account.key, body: chat("hi") });
  await reached();
  expect((await readBalance(account)).reserved).toBeGreaterThan(0);
  const [hold] = await env.WALLETS.getByName(account.id).unwritten();
  const lines = capture();
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 901_000 });
  expect(await wakeWallet(account)).toBe(true);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
  const lapsed = { unit: "settle", account: account.id, outcome: "deadline_exceeded", chats: 1 };
  expect(lines.map((line) => JSON.parse(line)).filter(({ chats }) => chats)).toEqual([lapsed]);
  await env.WALLETS.getByName(account.id).settle({ ...hold!, accountId: account.id }, 1_000, "completed");
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
  vi.useRealTimers();
});

test("if the wallet fails while a chat is settled, the settlement is retried; the caller already has its answer", async () => {
  const account = await newAccount();
  failWalletOnce(account, "chats", false, 2);
  failWalletOnce(account, "settle");
  expect((await call(path, { key: account.key, body: chat("hi") })).status).toBe(200);
  expect(await settledBalance(account)).toMatchObject({ reserved: 0, used: price });
});

test("a wallet that is away for some seconds while a chat is settled does not delay the answer, which is charged", async () => {
  const account = await newAccount();
  failWalletOnce(account, "chats", false, 9);
  vi.spyOn(scheduler, "wait").mockResolvedValue();
  expect((await call(path, { key: account.key, body: chat("hi") })).status).toBe(200);
  expect(await settledBalance(account)).toMatchObject({ reserved: 0, used: price });
});

test.each([false, true])("a call of the wallet that is lost is repeated, and the chat is charged once: takes effect %s", async (isDone) => {
  const account = await newAccount(1);
  await call(path, { key: account.key, body: chat("hi") });
  failWalletOnce(account, "chats", isDone, 8);
  const answers = await Promise.all(Array.from({ length: 6 }, () => call(path, { key: account.key, body: chat("hi") })));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
  expect(await settledBalance(account)).toMatchObject({ quota: 1, reserved: 0, used: Number((7 * price).toFixed(6)) });
  await wakeWallet(account);
  const { results } = await env.DB.prepare("SELECT charged FROM entry WHERE account_id = ?1").bind(account.id).run();
  expect(results).toEqual(Array.from({ length: 7 }, () => ({ charged: 36 })));
});

test.each([false, true])("if D1 fails while a chat is reserved, the answer is 503 and nothing is held: takes effect %s", async (isDone) => {
  const account = await newAccount();
  await call("/v1/balance", { key: account.key }); // the key is known, and the next statement is the grant
  failOnce(bindings.statement(), "run", isDone, 2);
  const answer = await call(path, { key: account.key, body: chat("hi") });
  expect(answer).toMatchObject({ status: 503, body: { error: { type: "internal_error", code: "unavailable" } } });
  expect(answer.headers.get("retry-after")).toMatch(/^\d+$/);
  expect(await settledBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test.each([false, true])(
  "if D1 fails once while a chat is reserved, the chat is held and charged once: takes effect %s",
  async (isDone) => {
    const account = await newAccount();
    await call("/v1/balance", { key: account.key });
    failOnce(bindings.statement(), "run", isDone);
    expect((await call(path, { key: account.key, body: chat("hi") })).status).toBe(200);
    expect(await settledBalance(account)).toMatchObject({ reserved: 0, used: price });
  },
);

test("if the wallet's answers are lost while a chat is reserved, the answer is 503 and what it held is released", async () => {
  const account = await newAccount();
  failWalletOnce(account, "reserve", true, 4); // in the shared call, and three times alone
  expect((await call(path, { key: account.key, body: chat("hi") })).status).toBe(503);
  expect(await env.WALLETS.getByName(account.id).unwritten()).toHaveLength(1);
  expect(await settledBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("the first chat of an account waits for D1 twice: for its key, read with its money, and for a grant", async () => {
  const account = await newAccount();
  expect((await call(path, { key: (await newAccount()).key, body: chat("hi") })).status).toBe(200); // counts the route's first answer
  const calls = [
    ...["run", "first", "all", "raw"].map((method) => spyOn(bindings.statement(), method)),
    spyOn(bindings.database(), "batch"),
  ];
  const objects = [vi.spyOn(WalletObject.prototype, "checkKeys"), vi.spyOn(WalletObject.prototype, "reserve")];
  expect((await call(path, { key: account.key, body: chat("hi") })).status).toBe(200);
  expect(calls.reduce((sum, { mock }) => sum + mock.calls.length, 0)).toBe(2);
  expect(objects.map(({ mock }) => mock.calls.length)).toEqual([1, 1]); // the second within the call of the shared holds
});

test("an account with the money for a single hold may chat again at once: what an answered chat still holds is settled first", async () => {
  const account = await newAccount(0.04);
  for (const _ of [1, 2, 3]) expect((await call(path, { key: account.key, body: chat("hi") })).status).toBe(200);
  expect(await settledBalance(account)).toMatchObject({ reserved: 0, used: Number((3 * price).toFixed(6)) });
});

test("a model of another kind is refused with param model", async () => {
  const account = await newAccount();
  for (const model of ["imgA-4", "textB-9"])
    expect(await call(path, { key: account.key, body: { ...chat("hi"), model } })).toMatchObject({
      status: 400,
      body: { error: { type: "invalid_request", code: "model_not_found", param: "model" } },
    });
});

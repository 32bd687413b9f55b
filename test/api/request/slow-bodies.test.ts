/** Deliberately slow uploads: they end, and do not delay other accounts. */

import "../../support/alone.ts";
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, expect, test, vi } from "vitest";
import worker from "../../../src/worker.ts";
import { type Account, call, readBalance, newAccount } from "../../support/gateway.ts";

afterEach(() => void vi.useRealTimers());

const MiB = 1024 * 1024;
const path = "/v1/images/generations";
const makeImage = (bytes: number) => {
  const data = new Uint8Array(bytes).fill(7);
  data.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return `data:image/png;base64,${data.toBase64()}`;
};
const large = () => JSON.stringify({ model: "imgB-4o-image", prompt: "a quay", images: [makeImage(100_000)] });

/** Sends a body, or a stream, with the declared content length. */
async function send(account: Account, body: string | ReadableStream, length?: number, to = path) {
  const headers = {
    authorization: `Bearer ${account.key}`,
    "content-type": "application/json",
    ...(length !== undefined && { "content-length": String(length) }),
  };
  const request = new Request(`https://gateway.example${to}`, { method: "POST", headers, body });
  const response = await worker.fetch(request, env, createExecutionContext());
  // oxlint-disable-next-line typescript/no-explicit-any -- bodies are looked at field by field
  return { status: response.status, headers: response.headers, body: (await response.json()) as any };
}

/** A body that sends its start and then nothing until the test ends it; `taken` once its start was read. */
function stalled(start: string) {
  let end = () => {};
  const { promise: taken, resolve } = Promise.withResolvers<void>();
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(start));
      end = () => controller.error(new Error("gone"));
    },
    pull: () => resolve(),
  });
  return { stream, end, taken };
}

const chats = "/v1/chat/completions";
const chat = (content: string) => JSON.stringify({ model: "textA-1", messages: [{ role: "user", content }] });

/** Starts this many requests of each account whose bodies stall after their first 90,000 bytes. Returns what ends them. */
async function stall(accounts: Account[], count: number, body: string, to = path) {
  const uploads = accounts.flatMap((account) => Array.from({ length: count }, () => ({ account, ...stalled(body.slice(0, 90_000)) })));
  const answers = uploads.map(({ account, stream }) => send(account, stream, undefined, to));
  await Promise.all(uploads.map(({ taken }) => taken));
  return async () => {
    for (const { end } of uploads) end();
    return (await Promise.all(answers)).map(({ status }) => status);
  };
}

test("slow uploads of two accounts without quota delay no other large body, not even of these accounts", async () => {
  const [one, two, other] = [await newAccount(0), await newAccount(0), await newAccount()];
  const end = await stall([one, two], 8, large());
  const endChats = await stall([one, two], 8, chat("x".repeat(100_000)), chats);
  expect((await send(other, large())).status).toBe(200);
  expect((await send(other, chat("x".repeat(100_000)), undefined, chats)).status).toBe(200);
  expect((await send(one, large())).status).toBe(503); // its seventeenth at once
  expect((await send(one, new Blob([chat("hi")]).stream(), undefined, chats)).status).toBe(402);
  expect(await end()).toEqual(Array.from({ length: 16 }, () => 400));
  expect(await endChats()).toEqual(Array.from({ length: 16 }, () => 400));
  expect((await send(one, large())).status).toBe(402);
  expect(await readBalance(one)).toMatchObject({ reserved: 0, used: 0 });
});

test("stalled bodies of settings and tokens count too: an account has sixteen, and they delay no other account", async () => {
  const [one, other] = [await newAccount(0), await newAccount(0)];
  const padded = JSON.stringify({ tasks: 1, max_cost: 1, expires_in: 60, note: "x".repeat(200_000) });
  const tokens = "/v1/tokens";
  const end = await stall([one], 16, padded, tokens);
  expect((await send(one, padded, undefined, tokens)).status).toBe(503); // its seventeenth at once
  expect((await send(other, padded, undefined, tokens)).status).toBe(201);
  expect((await send(one, JSON.stringify({ tasks: 1, max_cost: 1, expires_in: 60 }), undefined, tokens)).status).toBe(201);
  expect(await end()).toEqual(Array.from({ length: 16 }, () => 400));
  expect((await send(one, padded, undefined, tokens)).status).toBe(201);
  expect((await send(one, "x".repeat(1024 * 1024 + 1), undefined, tokens)).status).toBe(413);
});

test.each([path, "/openai/v1/images/edits"])(
  "stalled uploads with an account's client tokens at %s delay no body of its keys, and four of one token none of another token",
  async (to) => {
    const account = await newAccount();
    const newToken = async () => {
      const { body } = await call("/v1/tokens", { key: account.key, body: { tasks: 5, max_cost: 5, expires_in: 3600 } });
      return { ...account, key: body.token as string };
    };
    const tokens = [await newToken(), await newToken(), await newToken(), await newToken()];
    const end = await stall(tokens.slice(0, 3), 4, large(), to);
    expect((await send(tokens[0]!, large())).status).toBe(503); // its fifth at once
    expect((await send(tokens[3]!, large())).status).toBe(200);
    const endLast = await stall(tokens.slice(3), 4, large(), to);
    for (let time = 0; time < 4; time++) expect((await send(account, large())).status).toBe(200);
    await Promise.all([end(), endLast()]);
    expect((await send(tokens[0]!, large())).status).toBe(200);
  },
);

test("128 large bodies arrive at once at most, and further ones are 503; small ones and chats of a few bytes are answered", async () => {
  const other = await newAccount();
  const accounts = await Promise.all(Array.from({ length: 8 }, () => newAccount(0)));
  const end = await stall(accounts, 16, large());
  const refused = await send(other, large());
  expect([refused.status, refused.headers.has("retry-after")]).toEqual([503, true]);
  expect((await send(other, chat("hi"), undefined, chats)).status).toBe(200);
  await end();
  expect((await send(other, large())).status).toBe(200);
});

test("a large body that arrives slowly or while the memory is full is written to the bucket, read from there, and leaves nothing in it", async () => {
  const accounts = await Promise.all(Array.from({ length: 3 }, () => newAccount()));
  const before = (await env.ASSETS.list({ prefix: "inputs/" })).objects.length;
  const body = JSON.stringify({ model: "imgB-4o-image", prompt: "a quay", images: [makeImage(3 * MiB), makeImage(2 * MiB)] });
  const bytes = new TextEncoder().encode(body);
  const uploads = accounts.flatMap((account) => Array.from({ length: 5 }, () => ({ account, ...continued(bytes.slice(0, 1.5 * MiB)) })));
  const answers = uploads.map(({ account, stream }) => send(account, stream, bytes.length));
  await vi.waitFor(async () => expect((await parts()).length).toBeGreaterThan(11)); // four are read at once; without room in memory the parts of the others are smaller
  for (const { goOn } of uploads) goOn(bytes.slice(1.5 * MiB));
  const all = await Promise.all(answers);
  expect(all.map(({ status }) => status)).toEqual(Array.from({ length: 15 }, () => 200));
  for (const { body: task } of all) {
    const stored = (await env.ASSETS.list({ prefix: `inputs/${task.id}/` })).objects;
    expect(stored.map(({ size }) => size)).toEqual([3 * MiB, 2 * MiB]);
  }
  expect(await parts()).toEqual([]);
  expect((await env.ASSETS.list({ prefix: "inputs/" })).objects).toHaveLength(before + 30);
}, 60_000);

/** Chats reach an upstream that answers when the test says so. Tasks of earlier tests, which their objects may start meanwhile, do not count. */
function holdChats() {
  const { promise, resolve } = Promise.withResolvers<void>();
  const asked = vi.fn();
  const fetch = env.SANDBOX!.fetch.bind(env.SANDBOX);
  vi.spyOn(env.SANDBOX!, "fetch").mockImplementation((...sent) => {
    if (!new Request(...sent).url.endsWith(chats)) return fetch(...sent);
    asked();
    return promise.then(chatAnswer);
  });
  return { asked, answer: resolve };
}

test("a chat holds the bytes that it has, not those that it might have: ten of unknown length wait for their upstreams at once", async () => {
  const account = await newAccount();
  const { asked, answer } = holdChats();
  const long = chat("x".repeat(70_000));
  const answers = Array.from({ length: 10 }, () => send(account, new Blob([long]).stream(), undefined, chats));
  await vi.waitFor(() => expect(asked).toHaveBeenCalledTimes(10));
  answer();
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
});

test("large chats of one account hold at most half of the chats' memory, or one larger chat, until their upstreams answer; one over 10 MiB is refused", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  const { asked, answer } = holdChats();
  const long = chat("x".repeat(9 * MiB));
  const first = send(account, long, long.length, chats);
  await vi.waitFor(() => expect(asked).toHaveBeenCalledOnce());
  const [small, half] = [chat("x".repeat(MiB)), chat("x".repeat(6 * MiB))];
  const second = send(account, small, small.length, chats);
  const others = send(other, half, half.length, chats);
  await vi.waitFor(() => expect(asked).toHaveBeenCalledTimes(2));
  await scheduler.wait(100);
  expect(asked).toHaveBeenCalledTimes(2);
  answer();
  expect([(await first).status, (await second).status, (await others).status]).toEqual([200, 200, 200]);
  const { stream, end } = stalled(long);
  expect((await send(account, stream, 10 * MiB + 1, chats)).status).toBe(413);
  end();
}, 30_000);

/** A body that sends its start, and the rest when the test says so. */
function continued(start: Uint8Array) {
  let goOn: (rest: Uint8Array) => void = () => undefined;
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      const pieceBytes = 64 * 1024;
      const enqueue = (bytes: Uint8Array) => {
        for (let at = 0; at < bytes.length; at += pieceBytes) controller.enqueue(bytes.slice(at, at + pieceBytes));
      };
      enqueue(start);
      goOn = (rest) => {
        enqueue(rest);
        controller.close();
      };
    },
  });
  return { stream, goOn: (rest: Uint8Array) => goOn(rest) };
}

/** The stored parts of bodies that are arriving. */
const parts = async () => (await env.ASSETS.list({ prefix: "inputs/arriving-" })).objects;

const chatAnswer = () => Response.json({ choices: [{ index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" }] });

test.each([
  ["a large body of known length", path, stalled(large().slice(0, 70_000)), 140_000, 5_000 + 2_000],
  ["a body of unknown length", path, stalled(large().slice(0, 10)), undefined, 5_100],
  ["a chat", "/v1/chat/completions", stalled('{"model":'), 200_000, 5_000 + 4_000],
  ["a small body", path, stalled('{"model":'), 100, 5_100],
] as const)("%s that stops sending is ended with 408, and nothing of it stays stored", async (_, to, { stream }, length, ms) => {
  const account = await newAccount();
  const before = (await env.ASSETS.list({ prefix: "inputs/" })).objects.length;
  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"], now: Date.now() });
  const answer = send(account, stream, length, to);
  const isAnswered = vi.fn();
  void answer.then(isAnswered);
  await scheduler.wait(20);
  await vi.advanceTimersByTimeAsync(4_900);
  await scheduler.wait(5);
  expect(isAnswered).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(ms - 4_900);
  const { status, body } = await answer;
  vi.useRealTimers();
  expect({ status, error: body.error }).toMatchObject({ status: 408, error: { type: "invalid_request", code: "body_too_slow" } });
  expect(body.error.message).toContain("64 KB");
  expect((await env.ASSETS.list({ prefix: "inputs/" })).objects).toHaveLength(before);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

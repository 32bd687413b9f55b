/** Deliberately slow uploads: they end, and do not delay other accounts. */

import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, expect, test, vi } from "vitest";
import worker from "../../src/worker.ts";
import { type Account, readBalance, newAccount, unique } from "../support/gateway.ts";

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

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

/** A body that sends its start and then nothing until the test ends it. */
function stalled(start: string) {
  let end = () => {};
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(start));
      end = () => controller.error(new Error("gone"));
    },
  });
  return { stream, end };
}

test("slow uploads of one account do not delay another account's large body, and its own fourth upload is 503 at once", async () => {
  const [slow, other] = [await newAccount(), await newAccount()];
  const uploads = Array.from({ length: 3 }, () => stalled(large().slice(0, 90_000)));
  const answers = uploads.map(({ stream }) => send(slow, stream));
  await scheduler.wait(0);
  const fourth = await send(slow, large());
  expect(fourth.status).toBe(503);
  expect(fourth.headers.get("retry-after")).toMatch(/^\d+$/);
  expect((await send(other, large())).status).toBe(200);
  for (const { end } of uploads) end();
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([400, 400, 400]);
  expect(await readBalance(slow)).toMatchObject({ reserved: 0, used: 0 });
});

test("large chats share a limited number of bytes: one account cannot use all, small chats need none, a disconnect releases them", async () => {
  const [slow, other, third] = [await newAccount(), await newAccount(), await newAccount()];
  const chats = "/v1/chat/completions";
  const chat = (content: string) => JSON.stringify({ model: "textA-1", messages: [{ role: "user", content }] });
  const long = chat("x".repeat(100_000));
  // An unknown length counts as the largest: the second chat waits.
  const uploads = [stalled(long.slice(0, 90_000)), stalled(long.slice(0, 90_000))];
  const answers = uploads.map(({ stream }) => send(slow, stream, undefined, chats));
  await scheduler.wait(0);
  const refused = await send(slow, long, long.length, chats);
  expect([refused.status, refused.body.error.code, refused.headers.get("retry-after")]).toEqual([503, "unavailable", "5"]);
  expect((await send(slow, chat("hi"), undefined, chats)).status).toBe(200);
  expect((await send(slow, large())).status).toBe(200);
  expect((await send(other, long, long.length, chats)).status).toBe(200);
  const next = send(third, long, undefined, chats);
  const isAnswered = vi.fn();
  void next.then(isAnswered);
  await scheduler.wait(100);
  expect(isAnswered).not.toHaveBeenCalled();
  for (const { end } of uploads) end();
  expect((await next).status).toBe(200);
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([400, 400]);
});

test("a large chat releases its bytes when its upstream has answered, and one over 10 MiB is refused before it is read", async () => {
  const [slow, other] = [await newAccount(), await newAccount()];
  const chats = "/v1/chat/completions";
  const prompt = unique();
  const long = JSON.stringify({ model: "textA-1", messages: [{ role: "user", content: `${prompt} ${"x".repeat(100_000)}` }] });
  const fetched = vi.spyOn(env.SANDBOX!, "fetch");
  const { promise, resolve } = Promise.withResolvers<Response>();
  fetched.mockReturnValueOnce(promise);
  const first = send(slow, long, 9 * MiB, chats);
  await vi.waitFor(() => expect(fetched).toHaveBeenCalledOnce());
  const second = send(other, long, 9 * MiB, chats);
  const isAnswered = vi.fn();
  void second.then(isAnswered);
  await scheduler.wait(100);
  expect(isAnswered).not.toHaveBeenCalled();
  resolve(Response.json({ choices: [{ index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" }] }));
  expect([(await first).status, (await second).status]).toEqual([200, 200]);
  const { stream, end } = stalled(long);
  expect((await send(slow, stream, 10 * MiB + 1, chats)).status).toBe(413);
  end();
});

test("a small body of unknown length needs no permit", async () => {
  const [slow, other] = [await newAccount(), await newAccount()];
  const uploads = Array.from({ length: 4 }, (_, at) => stalled(large().slice(0, 90_000 + at)));
  const answers = [...uploads.slice(0, 2).map(({ stream }) => send(slow, stream)), send(other, uploads[2]!.stream)];
  await scheduler.wait(0);
  const small = new Blob([JSON.stringify({ model: "imgA-4", prompt: "a quay" })]).stream();
  expect((await send(slow, small)).status).toBe(200);
  for (const { end } of uploads) end();
  await Promise.all(answers);
});

test.each([
  ["a large body of known length", path, stalled(large().slice(0, 70_000)), 140_000, 5_000 + 2_000],
  ["a body of unknown length", path, stalled(large().slice(0, 10)), undefined, 5_100],
  ["a chat", "/v1/chat/completions", stalled('{"model":'), 200_000, 5_000 + 4_000],
  ["a small body", path, stalled('{"model":'), 100, 5_100],
] as const)("%s that stops sending is ended with 400, and nothing of it stays stored", async (_, to, { stream }, length, ms) => {
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
  expect({ status, error: body.error }).toMatchObject({ status: 400, error: { type: "invalid_request", code: "body_too_slow" } });
  expect(body.error.message).toContain("64 KB");
  expect((await env.ASSETS.list({ prefix: "inputs/" })).objects).toHaveLength(before);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

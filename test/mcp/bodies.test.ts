/** Large and slow bodies at /mcp: at the pace of everywhere, and under permits for their size. */

import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, expect, test, vi } from "vitest";
import worker from "../../src/worker.ts";
import { newAccount } from "../support/gateway.ts";

afterEach(() => void vi.useRealTimers());

const MiB = 1024 * 1024;
const listTools = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
/** A request of this size; spaces around JSON mean nothing. */
const padded = (bytes: number) => listTools.padEnd(bytes);

/** A body that stops within until the test ends it. */
function stalled() {
  let end = () => {};
  const stream = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(" ".repeat(90_000)));
      end = () => controller.close();
    },
  });
  return { stream, end };
}

async function send(key: string, body: ReadableStream | string) {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json", accept: "application/json, text/event-stream" };
  const request = new Request("https://gateway.example/mcp", { method: "POST", headers, body });
  const response = await worker.fetch(request, env, createExecutionContext());
  return { status: response.status, headers: response.headers, text: await response.text() };
}

test("slow bodies of two accounts delay no other body, and the seventeenth at once of one account is 503", async () => {
  const [one, two, other] = [await newAccount(0), await newAccount(0), await newAccount()];
  const uploads = [one, two].flatMap(({ key }) => Array.from({ length: 16 }, () => ({ key, ...stalled() })));
  const answers = uploads.map(({ key, stream }) => send(key, stream));
  await scheduler.wait(300);
  const more = await send(one.key, padded(100_000));
  expect([more.status, more.headers.has("retry-after")]).toEqual([503, true]);
  const large = await Promise.all([send(other.key, padded(3 * MiB)), send(other.key, new Blob([padded(100_000)]).stream())]);
  for (const { status, text } of large) expect([status, text.includes('"generate_image"')]).toEqual([200, true]);
  for (const { end } of uploads) end();
  expect(new Set((await Promise.all(answers)).map(({ status }) => status))).toEqual(new Set([400]));
});

test("an answered request releases its permit: an account sends any number of the largest bodies, one after the other and at once", async () => {
  const { key } = await newAccount();
  for (let round = 0; round < 2; round++) {
    const both = await Promise.all([send(key, padded(12 * MiB)), send(key, padded(12 * MiB))]);
    expect(both.map(({ status }) => status)).toEqual([200, 200]);
  }
}, 30_000);

test("a body that is too slow is 408", async () => {
  const { key } = await newAccount();
  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"], now: Date.now() });
  const answer = send(key, stalled().stream);
  await scheduler.wait(200);
  await vi.advanceTimersByTimeAsync(8_000);
  const { status, text } = await answer;
  expect([status, JSON.parse(text)]).toMatchObject([408, { error: { message: expect.stringContaining("64 KB") } }]);
});

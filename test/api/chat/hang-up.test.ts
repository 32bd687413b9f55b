/** Callers that disconnect, stop reading or read slowly: what they get and when, and that the chat is settled before the platform ends the invocation. */

import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import * as fc from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openSender } from "../../../src/api/chat/sender.ts";
import { WalletObject } from "../../../src/wallet/object.ts";
import worker from "../../../src/worker.ts";
import { readBalance, newAccount } from "../../support/gateway.ts";
import { toEnv } from "../../support/models.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date"] }));
afterEach(() => void vi.useRealTimers());

const chunk = (delta: object) => `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`;
const promptFloor = (2 * "a question".length) / 1e6;

const ROUTES = { "textA-1": [{ provider: "sandbox", model: "textA-1" }] };
const toRequest = (key: string, isStream: boolean, signal: AbortSignal) =>
  new Request("https://gateway.example/v1/chat/completions", {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "textA-1", stream: isStream, messages: [{ role: "user", content: "a question" }] }),
    signal,
  });

/** Starts a chat of a new account with this upstream. */
async function begin(isStream: boolean, upstream: (signal: AbortSignal) => Promise<Response>) {
  const account = await newAccount();
  const caller = new AbortController();
  const context = createExecutionContext();
  let asked: (() => void) | undefined;
  const isAsked = new Promise<void>((resolve) => (asked = resolve));
  const SANDBOX = {
    fetch: (_: string, { signal }: { signal: AbortSignal }) => {
      asked!();
      return upstream(signal);
    },
  } as unknown as Fetcher;
  const request = toRequest(account.key, isStream, caller.signal);
  const answer = worker.fetch(request, toEnv({ SANDBOX, ROUTES }), context);
  await isAsked;
  return { account, caller, context, answer };
}

/** A stream that sends these events and then stays open and silent. */
const stalled = (...events: string[]) =>
  new Response(
    new ReadableStream({
      type: "bytes",
      start: (controller) => controller.enqueue(new TextEncoder().encode(events.join(""))),
    }),
    { headers: { "content-type": "text/event-stream" } },
  );

const never = (signal: AbortSignal) =>
  new Promise<Response>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));

test("if the caller has disconnected, an unfinished whole answer is settled by the prompt after 20 seconds", async () => {
  const { account, caller, context, answer } = await begin(false, never);
  caller.abort();
  await vi.advanceTimersByTimeAsync(19_000);
  expect((await readBalance(account)).reserved).toBeGreaterThan(0);
  await vi.advanceTimersByTimeAsync(1_000);
  expect((await answer).status).toBe(500);
  await waitOnExecutionContext(context);
  const { reserved, used } = await readBalance(account);
  expect([reserved, used >= promptFloor]).toEqual([0, true]);
});

test("a chat that is answered soon adds no listener to its request: with one, the request stays in memory long after its answer", async () => {
  const added = vi.spyOn(EventTarget.prototype, "addEventListener");
  const choices = [{ index: 0, message: { role: "assistant", content: "an answer" }, finish_reason: "stop" }];
  const { context, answer } = await begin(false, async () => Response.json({ choices }));
  expect((await answer).status).toBe(200);
  await waitOnExecutionContext(context);
  expect(added).not.toHaveBeenCalled();
});

test("a whole answer that breaks off is charged by the bytes that arrived, not by the length that was announced", async () => {
  const broken = () =>
    new ReadableStream({
      type: "bytes",
      start: (controller) => controller.enqueue(new TextEncoder().encode('{"choices":')),
      pull: (controller) => controller.error(new Error("broken")),
    });
  const { account, context, answer } = await begin(false, async () => new Response(broken(), { headers: { "content-length": "500" } }));
  // OpenAI's clients repeat every other 500, and would pay for each.
  expect([(await answer).status, (await answer).headers.get("x-should-retry")]).toEqual([500, "false"]);
  await waitOnExecutionContext(context);
  const { reserved, used } = await readBalance(account);
  expect(reserved).toBe(0);
  expect(used).toBeGreaterThan(promptFloor + (8 * 10) / 1e6);
  expect(used).toBeLessThan(promptFloor + (8 * 50) / 1e6);
});

test("a caller that disconnects while its price is being held pays nothing, and no upstream is asked", async () => {
  const account = await newAccount();
  const caller = new AbortController();
  const wallet: Record<string, (...values: unknown[]) => Promise<unknown>> = WalletObject.prototype as never;
  const reserve = wallet["reserve"]!;
  vi.spyOn(wallet, "reserve").mockImplementationOnce(async function (this: unknown, ...values) {
    const held = await reserve.apply(this, values);
    caller.abort();
    return held;
  });
  const context = createExecutionContext();
  const asked = vi.fn();
  const request = toRequest(account.key, false, caller.signal);
  const answer = await worker.fetch(request, toEnv({ SANDBOX: { fetch: asked } as unknown as Fetcher, ROUTES }), context);
  expect(answer.status).toBe(503);
  await waitOnExecutionContext(context);
  expect(asked).not.toHaveBeenCalled();
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("a caller that keeps waiting is not charged when the upstream never answers", async () => {
  const { account, context, answer } = await begin(false, never);
  await vi.advanceTimersByTimeAsync(600_000);
  expect((await answer).status).toBe(500);
  await waitOnExecutionContext(context);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("if the caller has disconnected, an unfinished stream is settled by the received part, tool calls and reasoning included", async () => {
  const call = { tool_calls: [{ index: 0, function: { name: "clock", arguments: "x".repeat(500) } }] };
  const { account, caller, context, answer } = await begin(true, async () =>
    stalled(chunk({ reasoning_content: "y".repeat(700) }), chunk(call)),
  );
  const reader = (await answer).body!.getReader();
  await reader.read();
  await reader.cancel();
  caller.abort();
  await vi.advanceTimersByTimeAsync(20_000);
  await waitOnExecutionContext(context);
  const { reserved, used } = await readBalance(account);
  expect([reserved, used >= promptFloor + (8 * 1205) / 1e6]).toEqual([0, true]);
});

test("a caller that stops reading without disconnecting is charged at the deadline, not at the hold's alarm", async () => {
  const { account, context, answer } = await begin(true, async () => stalled(chunk({ content: "z".repeat(1000) })));
  await answer;
  await vi.advanceTimersByTimeAsync(600_000);
  await waitOnExecutionContext(context);
  const { reserved, used } = await readBalance(account);
  expect([reserved, used >= promptFloor + (8 * 1000) / 1e6]).toEqual([0, true]);
});

test("a caller that still reads when the deadline ends the stream gets an error event before the connection breaks", async () => {
  const { account, context, answer } = await begin(true, async () => stalled(chunk({ content: "Hello" })));
  const reader = (await answer).body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  const read = async () => {
    for (;;) text += (await reader.read()).value;
  };
  const isBroken = read().catch(() => true);
  await vi.advanceTimersByTimeAsync(600_000);
  expect(await isBroken).toBe(true);
  await waitOnExecutionContext(context);
  expect(text).toContain('data: {"error":{"message":');
  expect(await readBalance(account)).toMatchObject({ reserved: 0 });
});

test("while the upstream is silent a comment is sent every 15 seconds, so that a failing write detects a disconnected caller", async () => {
  const { account, context, answer } = await begin(true, async () => stalled(chunk({ content: "Hello" })));
  const reader = (await answer).body!.pipeThrough(new TextDecoderStream()).getReader();
  expect((await reader.read()).value).toContain("Hello");
  await vi.advanceTimersByTimeAsync(15_000);
  expect((await reader.read()).value).toBe(":\n\n");
  // The caller disconnected without a signal: only the next comment fails on the closed connection, and the chat is settled 20 seconds
  // later.
  await reader.cancel();
  await vi.advanceTimersByTimeAsync(15_000);
  await vi.advanceTimersByTimeAsync(20_000);
  await waitOnExecutionContext(context);
  const { reserved, used } = await readBalance(account);
  expect([reserved, used > 0]).toEqual([0, true]);
});

test("a caller that reads slowly gets everything, and the upstream is read only a little ahead of it", async () => {
  const count = 600;
  const event = (at: number) => chunk({ content: `${at} ${"w".repeat(1000)};` });
  let made = 0;
  const source = {
    type: "bytes" as const,
    pull(controller: ReadableByteStreamController) {
      if (made < count) controller.enqueue(new TextEncoder().encode(event(made++)));
      else {
        controller.enqueue(new TextEncoder().encode("data: [DONE]\n\n"));
        controller.close();
      }
    },
  };
  const { account, context, answer } = await begin(true, async () => new Response(new ReadableStream(source)));
  const reader = (await answer).body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  let maxAhead = 0;
  for (let { value, done } = await reader.read(); !done; { value, done } = await reader.read()) {
    text += value;
    if (text.length < 20_000) await readBalance(account); // time in which the gateway could read the upstream to its end
    maxAhead = Math.max(maxAhead, made - (text.match(/;/g)?.length ?? 0));
    await vi.advanceTimersByTimeAsync(16);
  }
  expect(text.match(/\d+(?= w)/g)).toEqual(Array.from({ length: count }, (_, at) => String(at)));
  expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
  expect(maxAhead).toBeGreaterThan(1);
  expect(maxAhead).toBeLessThan(200);
  await waitOnExecutionContext(context);
});

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ add: fc.string({ maxLength: 20 }) }) },
  { weight: 4, arbitrary: fc.record({ pass: fc.nat(24) }) },
  { weight: 2, arbitrary: fc.constant({ finish: true }) },
  { weight: 1, arbitrary: fc.constant({ add: "x".repeat(70_000) }) },
);

/** More texts than a calm isolate has in 16 ms. */
function makeBusy() {
  const sender = openSender({ write: () => Promise.resolve() } as unknown as WritableStreamDefaultWriter<Uint8Array>, {
    isGone: () => false,
    hangUp: () => expect.fail(),
  });
  for (let text = 0; text <= 64; text++) void sender.add("x");
}

test("text is written once, in its order: at once, or in a busy isolate after a pause of 16 ms", async () => {
  await fc.assert(
    fc.asyncProperty(fc.boolean(), fc.boolean(), fc.array(step, { maxLength: 40 }), async (isSlow, isBusy, steps) => {
      await vi.advanceTimersByTimeAsync(40); // the time before is not busy
      const writes: { at: number; text: string }[] = [];
      const running: (() => void)[] = [];
      const write = (bytes: Uint8Array) => {
        expect(running).toEqual([]);
        writes.push({ at: Date.now(), text: new TextDecoder().decode(bytes) });
        return isSlow ? new Promise<void>((resolve) => running.push(resolve)) : Promise.resolve();
      };
      const sender = openSender({ write } as unknown as WritableStreamDefaultWriter<Uint8Array>, {
        isGone: () => false,
        hangUp: () => expect.fail(),
      });
      let added = "";
      let waitsSince: number | undefined;
      const rest = () => added.slice(writes.reduce((sum, { text }) => sum + text.length, 0));
      for (const one of steps) {
        if (isBusy) makeBusy();
        if ("add" in one) {
          added += one.add;
          const isLate = one.add !== "" && running.length === 0 && (!isBusy || Date.now() - (writes.at(-1)?.at ?? 0) >= 16);
          const full = sender.add(one.add);
          expect(full !== undefined).toBe(one.add !== "" && running.length > 0 && rest().length > 65_536);
          if (isLate) expect(rest()).toBe("");
        } else if ("finish" in one) running.shift()?.();
        await vi.advanceTimersByTimeAsync("pass" in one ? one.pass : 0);
        // Nothing waits but for a running write, or a short time for the next text.
        if (rest() === "" || running.length > 0) waitsSince = undefined;
        else expect(Date.now() - (waitsSince ??= Date.now())).toBeLessThan(isBusy ? 16 : 0);
      }
      for (const [at, { text }] of writes.entries())
        if (isBusy && at > 0 && text.length <= 65_536) expect(writes[at]!.at - writes[at - 1]!.at).toBeGreaterThanOrEqual(16);
      const flushed = sender.flush();
      for (let at = 0; at < 2; at++) {
        running.shift()?.();
        await vi.advanceTimersByTimeAsync(0);
      }
      await flushed;
      expect(writes.map(({ text }) => text).join("")).toBe(added);
    }),
    { numRuns: 100 },
  );
});

test("after a write that failed nothing is kept or written, and waiting for it ends", async () => {
  let isGone = false;
  const write = vi.fn(() => Promise.reject(new Error("disconnected")));
  const sender = openSender({ write } as unknown as WritableStreamDefaultWriter<Uint8Array>, {
    isGone: () => isGone,
    hangUp: () => void (isGone = true),
  });
  void sender.add("first");
  await sender.add("x".repeat(70_000));
  void sender.add("later");
  await sender.flush();
  expect([isGone, write.mock.calls.length]).toEqual([true, 1]);
});

/** Forms over slow lines: a caller who keeps the pace is served. */

import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, expect, test, vi } from "vitest";
import worker from "../../src/worker.ts";
import { type Account, newAccount } from "../support/gateway.ts";
import { form, png, taskIds, v1 } from "./support.ts";

afterEach(() => void vi.useRealTimers());

/** A form of 2 MB that is sent up to its last 500 KB, and then waits until the test goes on. */
async function halfSent(account: Account) {
  const { body, headers } = await form({ model: "sora-2", prompt: "x", input_reference: new Blob([png(2_000_000)]) });
  const bytes = new Uint8Array(body);
  let goOn = () => {};
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(bytes.slice(0, 1_500_000));
      goOn = () => {
        controller.enqueue(bytes.slice(1_500_000));
        controller.close();
      };
    },
  });
  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"], now: Date.now() });
  const request = new Request(`https://gateway.example${v1}/videos`, {
    method: "POST",
    headers: { ...headers, authorization: `Bearer ${account.key}` },
    body: stream,
  });
  const answer = worker.fetch(request, env, createExecutionContext());
  let isAnswered = false;
  void Promise.resolve(answer).then(() => (isAnswered = true));
  await scheduler.wait(200);
  return { answer, goOn, isAnswered: () => isAnswered };
}

test("a picture that takes its time is taken as long as it keeps the pace", async () => {
  const account = await newAccount();
  const { answer, goOn, isAnswered } = await halfSent(account);
  await vi.advanceTimersByTimeAsync(20_000);
  await scheduler.wait(50);
  expect(isAnswered()).toBe(false);
  goOn();
  const response = await answer;
  vi.useRealTimers();
  const { id } = await response.json<{ id: string }>();
  expect([response.status, await taskIds(account)]).toEqual([200, [id]]);
});

test("slow bodies of one account leave a turn to another, and its own fourth is 503 at once", async () => {
  const [slow, other] = [await newAccount(), await newAccount()];
  const send = async (account: Account, body: ReadableStream | string, path = "/chat/completions") =>
    worker.fetch(
      new Request(`https://gateway.example${v1}${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${account.key}`, "content-type": "application/json", "content-length": "100000" },
        body,
      }),
      env,
      createExecutionContext(),
    );
  const chat = JSON.stringify({ model: "textA-1", messages: [{ role: "user", content: "x".repeat(80_000) }] });
  const ends: (() => void)[] = [];
  const stalled = () =>
    new ReadableStream({
      start: (controller) => {
        controller.enqueue(new TextEncoder().encode(chat.slice(0, 70_000)));
        ends.push(() => controller.close());
      },
    });
  const answers = Array.from({ length: 3 }, () => send(slow, stalled()));
  await scheduler.wait(100);
  const fourth = await send(slow, chat);
  expect([fourth.status, fourth.headers.has("retry-after")]).toEqual([503, true]);
  expect((await send(other, chat)).status).toBe(200);
  for (const end of ends) end();
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([400, 400, 400]);
});

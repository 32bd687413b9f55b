/** Large bodies: over slow connections that keep the minimum rate, and more at once than fit into memory. */

import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, expect, test, vi } from "vitest";
import { GatewayApi } from "../../src/gateway-api.ts";
import type { Api } from "../../src/openai/paths.ts";
import worker from "../../src/worker.ts";
import { type Account, newAccount } from "../support/gateway.ts";
import { form, png, taskIds, v1 } from "./support.ts";

afterEach(() => void vi.useRealTimers());

/** A form of 2 MB that is sent except for its last 500 KB, and then waits until the test continues it. */
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

test("a slow image is accepted as long as it keeps the minimum rate", async () => {
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

test("slow bodies of one account leave a permit to another, and its own fourth is 503 at once", async () => {
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

/** A request of the OpenAI Worker, with its body once that is read. */
interface Arrived extends Record<"take" | "answer" | "drop", () => void> {
  text?: string;
}

/** Replaces the gateway for the OpenAI Worker's requests: the test decides when a body is read and when it is answered. */
function gated() {
  const arrived: Arrived[] = [];
  const open = (request: Request, api: Api) => {
    const hold = async (asked: Request) => {
      const [taken, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const one: Arrived = { take: taken.resolve, answer: answered.resolve, drop: () => taken.reject(new Error("the gateway is gone")) };
      arrived.push(one);
      await taken.promise;
      one.text = await asked.text();
      const answer = await api.fetch(new Request(asked.url, { method: "POST", headers: asked.headers, body: one.text }));
      await answered.promise;
      return answer;
    };
    return env.OPENAI!.open(request, new GatewayApi(hold, () => api.account()));
  };
  /** Sends a body with its length, or a stream with the length that it declares. */
  const send = async ({ key }: Account, path: string, body: string | ReadableStream, declared = 0) => {
    const length = typeof body === "string" ? new TextEncoder().encode(body).length : declared;
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json", "content-length": `${length}` };
    const request = new Request(`https://gateway.example${v1}${path}`, { method: "POST", headers, body });
    return worker.fetch(request, { ...env, OPENAI: { open } }, createExecutionContext());
  };
  return {
    arrived,
    send,
    untilArrived: (count: number) => expect.poll(() => arrived.length, { timeout: 5_000, interval: 10 }).toBe(count),
  };
}

test("large chats and responses are read, converted and sent three at a time; waiting for their answers needs no permit", async () => {
  const { arrived, send, untilArrived } = gated();
  const [one, other, third] = [await newAccount(), await newAccount(), await newAccount()];
  const response = (input: string) => JSON.stringify({ model: "gpt-5", input });
  const chat = (content: string) => JSON.stringify({ model: "gpt-5", messages: [{ role: "user", content }] });
  const text = "x\u{1f600}".repeat(200_000);
  const large = [
    send(one, "/chat/completions", chat(text)),
    send(one, "/responses", response(text)),
    send(other, "/responses", response(text)),
  ];
  await untilArrived(3);

  // The fourth is not read yet, a fifth of the account is refused, a small one is processed.
  large.push(send(third, "/responses", response(text)));
  await scheduler.wait(100);
  expect(arrived).toHaveLength(3);
  const fifth = await send(third, "/chat/completions", chat(text));
  expect([fifth.status, fifth.headers.get("retry-after")]).toEqual([503, "1"]);
  const small = send(third, "/responses", response("Hi"));
  await untilArrived(4);
  arrived[3]!.take();
  arrived[3]!.answer();
  expect((await small).status).toBe(200);

  // A body that the gateway has read releases its permit before its answer arrives.
  arrived[0]!.take();
  await untilArrived(5);
  for (const { take, answer } of arrived) {
    take();
    answer();
  }
  expect((await Promise.all(large)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  const whole = JSON.stringify([{ role: "user", content: text }]);
  const bodies = arrived.map((one) => JSON.parse(one.text ?? "") as { model: string; messages: unknown });
  expect(bodies.filter(({ model, messages }) => model === "textA-1" && JSON.stringify(messages) === whole)).toHaveLength(4);
});

test("a caller that disconnects releases the permit, while the body is read and while it is sent", async () => {
  const { arrived, send, untilArrived } = gated();
  const [one, other, third] = [await newAccount(), await newAccount(), await newAccount()];
  const chat = JSON.stringify({ model: "gpt-5", messages: [{ role: "user", content: "x".repeat(300_000) }] });
  const sent = send(one, "/chat/completions", chat);
  await untilArrived(1);
  const hangUps: (() => void)[] = [];
  const half = () =>
    new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(chat.slice(0, 100_000)));
        hangUps.push(() => controller.error(new Error("gone")));
      },
    });
  const broken = [send(one, "/responses", half(), chat.length), send(other, "/chat/completions", half(), chat.length)];
  await scheduler.wait(50);
  const waiting = [send(other, "/chat/completions", chat), send(third, "/chat/completions", chat)];
  await scheduler.wait(100);
  expect(arrived).toHaveLength(1);
  hangUps[0]!();
  await untilArrived(2);
  arrived[0]!.drop();
  await untilArrived(3);
  hangUps[1]!();
  for (const { take, answer } of arrived) {
    take();
    answer();
  }
  expect((await Promise.all([sent, ...broken, ...waiting])).map(({ status }) => status)).toEqual([500, 400, 400, 200, 200]);
});

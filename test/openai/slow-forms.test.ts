/** Large bodies: over slow connections that keep the minimum rate, and more at once than fit into memory. */

import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, expect, test, vi } from "vitest";
import { GatewayApi, type Receive } from "../../src/rpc/gateway-api.ts";
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

/** A chat over 64 KB, and a stream that stops within it until the test ends it. */
const longChat = JSON.stringify({ model: "textA-1", messages: [{ role: "user", content: "x".repeat(80_000) }] });
function stalled() {
  let end = () => {};
  const stream = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(longChat.slice(0, 70_000)));
      end = () => controller.close();
    },
  });
  return { stream, end };
}

async function sendChat(key: string, body: ReadableStream | string) {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json", "content-length": "100000" };
  const request = new Request(`https://gateway.example${v1}/chat/completions`, { method: "POST", headers, body });
  return worker.fetch(request, env, createExecutionContext());
}

test("slow bodies of two accounts without quota delay no other body, and the seventeenth at once of one account is 503", async () => {
  const [one, two, other] = [await newAccount(0), await newAccount(0), await newAccount()];
  const uploads = [one, two].flatMap(({ key }) => Array.from({ length: 16 }, () => ({ key, ...stalled() })));
  const answers = uploads.map(({ key, stream }) => sendChat(key, stream));
  await scheduler.wait(200);
  const more = await sendChat(one.key, longChat);
  expect([more.status, more.headers.has("retry-after")]).toEqual([503, true]);
  expect((await sendChat(other.key, longChat)).status).toBe(200);
  for (const { end } of uploads) end();
  expect(new Set((await Promise.all(answers)).map(({ status }) => status))).toEqual(new Set([400]));
});

test("a large body without a known key is refused before it is read, so that strangers hold nothing", async () => {
  const stranger = `sk-${"a".repeat(43)}`;
  const answers = await Promise.all(Array.from({ length: 4 }, () => sendChat(stranger, stalled().stream)));
  expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401]);
  expect((await answers[0]!.json<{ error: { code: string } }>()).error.code).toBe("invalid_api_key");
});

test("a body that is too slow is 408, which clients repeat", async () => {
  const { key } = await newAccount();
  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"], now: Date.now() });
  const answer = sendChat(key, stalled().stream);
  await scheduler.wait(100);
  await vi.advanceTimersByTimeAsync(7_000);
  const response = await answer;
  vi.useRealTimers();
  expect([response.status, (await response.json<{ error: object }>()).error]).toMatchObject([408, { code: "body_too_slow" }]);
});

/** A request of the OpenAI Worker, with its body once that is read. */
interface Arrived extends Record<"take" | "answer" | "drop", () => void> {
  text?: string;
}

/** Replaces the gateway for the OpenAI Worker's requests: the test decides when a body is read and when it is answered. */
function gated() {
  const arrived: Arrived[] = [];
  const open = (request: Request, api: GatewayApi, receive: Receive) => {
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
    return env.OPENAI!.open(
      request,
      new GatewayApi(
        hold,
        () => api.account(),
        (count) => api.countReads(count),
      ),
      receive,
    );
  };
  /** Sends a body with its length, or a stream with the length that it declares. */
  const send = async ({ key }: Account, path: string, body: string | ReadableStream, declared = 0) => {
    const length = typeof body === "string" ? new TextEncoder().encode(body).length : declared;
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json", "content-length": `${length}` };
    const request = new Request(`https://gateway.example${v1}${path}`, { method: "POST", headers, body });
    return worker.fetch(request, { ...env, OPENAI: { open } }, createExecutionContext());
  };
  const sendForm = async ({ key }: Account, { body, headers }: { body: ArrayBuffer; headers: Record<string, string> }) => {
    const request = new Request(`https://gateway.example${v1}/videos`, {
      method: "POST",
      headers: { ...headers, authorization: `Bearer ${key}` },
      body,
    });
    return worker.fetch(request, { ...env, OPENAI: { open } }, createExecutionContext());
  };
  return {
    arrived,
    send,
    sendForm,
    untilArrived: (count: number) => expect.poll(() => arrived.length, { timeout: 5_000, interval: 10 }).toBe(count),
  };
}

test("ten forms of some hundred bytes are sent at once", async () => {
  const { arrived, sendForm, untilArrived } = gated();
  const account = await newAccount();
  const { body, headers } = await form({ model: "sora-2", prompt: "a quay" });
  const answers = Array.from({ length: 10 }, (_, at) => sendForm(account, { body, headers: { ...headers, "idempotency-key": `${at}` } }));
  await untilArrived(10);
  for (const { take, answer } of arrived) {
    take();
    answer();
  }
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
});

test("large chats and responses are converted and sent under permits for their size; waiting for their answers needs none", async () => {
  const { arrived, send, untilArrived } = gated();
  const [one, other, third] = [await newAccount(), await newAccount(), await newAccount()];
  const response = (input: string) => JSON.stringify({ model: "gpt-5", input });
  const chat = (content: string) => JSON.stringify({ model: "gpt-5", messages: [{ role: "user", content }] });
  const text = "x\u{1f600}".repeat(1_800_000);
  // The second one of an account waits, because the first takes almost all of its half.
  const large = [send(one, "/chat/completions", chat(text)), send(other, "/responses", response(text))];
  await untilArrived(2);
  large.push(send(one, "/responses", response(text)), send(third, "/responses", response(text)));
  const small = send(third, "/responses", response("Hi"));
  await untilArrived(3);
  await scheduler.wait(300);
  expect(arrived).toHaveLength(3);
  arrived[2]!.take();
  arrived[2]!.answer();
  expect((await small).status).toBe(200);

  // A body that the gateway has read releases its permit before its answer arrives.
  arrived[0]!.take();
  await untilArrived(4);
  arrived[1]!.take();
  await untilArrived(5);
  for (const { take, answer } of arrived) {
    take();
    answer();
  }
  expect((await Promise.all(large)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  const whole = JSON.stringify([{ role: "user", content: text }]);
  const bodies = arrived.map((one) => JSON.parse(one.text ?? "") as { model: string; messages: unknown });
  expect(bodies.filter(({ model, messages }) => model === "textA-1" && JSON.stringify(messages) === whole)).toHaveLength(4);
}, 60_000);

test("a body whose sending fails releases its permit", async () => {
  const { arrived, send, untilArrived } = gated();
  const [one, other, third] = [await newAccount(), await newAccount(), await newAccount()];
  const chat = JSON.stringify({ model: "gpt-5", messages: [{ role: "user", content: "x".repeat(9_000_000) }] });
  const sent = [send(one, "/chat/completions", chat), send(other, "/chat/completions", chat)];
  await untilArrived(2);
  const waiting = send(third, "/chat/completions", chat);
  await scheduler.wait(200);
  expect(arrived).toHaveLength(2);
  arrived[0]!.drop();
  await untilArrived(3);
  for (const { take, answer } of arrived) {
    take();
    answer();
  }
  expect((await Promise.all([...sent, waiting])).map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 200, 500]);
}, 60_000);

test("nothing stays stored of a large body that is refused before it is read", async () => {
  const { key } = await newAccount();
  const parts = async () => (await env.ASSETS.list({ prefix: "inputs/arriving-" })).objects.map((part) => part.key);
  const before = await parts();
  const body = "x".repeat(3_000_000);
  const headers = { authorization: `Bearer ${key}`, "content-type": "text/plain", "content-length": String(body.length) };
  const request = new Request(`https://gateway.example${v1}/images/edits`, { method: "POST", headers, body });
  expect((await worker.fetch(request, env, createExecutionContext())).status).toBe(415);
  await expect.poll(parts).toEqual(before);
});

/** Callbacks: one signed POST when a task becomes final, repeated until the receiver accepts it. Contract 7. */

import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { bindings, failOnce, spyOn } from "../../support/faults.ts";
import {
  type Account,
  alarm,
  call,
  complete,
  deliver,
  finish,
  holdTime,
  newAccount,
  pass,
  script,
  submit,
  unique,
  image,
} from "../../support/gateway.ts";
import { callBack, findCallback, hangs, hurryTimeouts, ok, receivers, readSecret, setEndpoint, verified } from "../../support/receiver.ts";

holdTime();

const images = "/v1/images/generations";
const hook = "https://hooks.example.com/done";
const other = "https://other.example.com/done";
const answers = (status: number, headers: Record<string, string> = {}) => new Response(null, { status, headers });

/** A task that has just completed, with its callback in the queue. */
const completed = (account: Account, more: object = { callback_url: hook }) => complete(account, images, image(more));

test("a completed task is posted once to its callback_url, signed, with the data of the status query", async () => {
  const account = await newAccount();
  const received = receivers({ [hook]: ok });
  const id = await completed(account);
  await callBack(id);
  await callBack(id);
  expect(received).toHaveLength(1);
  const [message] = received;
  expect(message).toMatchObject({ url: hook, redirect: "manual", headers: { "content-type": "application/json" } });
  expect(message!.headers).not.toHaveProperty("authorization");
  const { data } = (await call(`/v1/tasks/${id}`, { key: account.key })).body;
  const event = verified(message!, await readSecret(account));
  expect(event).toEqual({ type: "task.completed", timestamp: new Date(data.completed_at * 1000).toISOString(), data });
  expect(message!.headers["webhook-id"]).toBe(id.replace("task_", "evt_"));
  expect(await findCallback(account, id)).toEqual({
    object: "task.callback",
    task: id,
    event: id.replace("task_", "evt_"),
    url: hook,
    state: "delivered",
    attempts: [{ at: Math.floor(Date.now() / 1000), ms: 0, status: 204 }],
  });
});

test("in a deployment, queue names end with the environment's name", async () => {
  const account = await newAccount();
  const received = receivers({ [hook]: ok });
  const id = await completed(account);
  await deliver(id, "gateway-dispatch-staging");
  expect(received).toHaveLength(0);
  await deliver(id, "gateway-notify-staging");
  expect(received).toHaveLength(1);
  const queued = await submit(account, images, image());
  await deliver(queued, "gateway-dead-staging");
  expect((await call(`/v1/tasks/${queued}`, { key: account.key })).body.data.error.code).toBe("provider_error");
});

test("a failed task is posted with its error, in the language of its submission", async () => {
  const account = await newAccount();
  const received = receivers({ [hook]: ok });
  const prompt = unique();
  await script({ match: prompt, polls: [{ failed: "content_policy_violation" }] });
  const id = await submit(account, images, { ...image({ callback_url: hook }), prompt }, { "accept-language": "ja" });
  await finish(account, id);
  await callBack(id);
  const event = verified(received[0]!, await readSecret(account));
  const { data } = (await call(`/v1/tasks/${id}?language=ja`, { key: account.key })).body;
  expect(event).toMatchObject({ type: "task.failed", data: { error: { code: "content_policy_violation" } } });
  expect(event.data).toEqual(data);
});

test("a cancelled task is posted", async () => {
  const account = await newAccount();
  const received = receivers({ [hook]: ok });
  const id = await submit(account, images, image({ callback_url: hook }));
  await call(`/v1/tasks/${id}/cancel`, { key: account.key, method: "POST" });
  await callBack(id);
  expect(verified(received[0]!, await readSecret(account))).toMatchObject({ type: "task.failed", data: { error: { code: "cancelled" } } });
});

test("the account's endpoint receives the callbacks of tasks without callback_url, also when it was set after the submission", async () => {
  const account = await newAccount();
  const received = receivers({ [hook]: ok, [other]: ok });
  const id = await submit(account, images, image());
  await setEndpoint(account, hook);
  await finish(account, id);
  await callBack(id);
  await callBack(await completed(account, { callback_url: other }));
  expect(received.map(({ url }) => url)).toEqual([hook, other]);
});

test("without an endpoint and callback_url no message is sent and no request is made", async () => {
  const account = await newAccount();
  const received = receivers({});
  const sends = spyOn(bindings.queue(), "send").mockClear();
  const id = await completed(account, {});
  expect(sends).toHaveBeenCalledTimes(2);
  await callBack(id);
  expect(received).toEqual([]);
  expect(await findCallback(account, id)).toMatchObject({ url: null, state: "none", attempts: [] });
});

test("an endpoint that was removed is not called; a changed one is called at its new URL", async () => {
  const account = await newAccount();
  const received = receivers({ [other]: ok });
  await setEndpoint(account, hook);
  const [first, second] = [await completed(account, {}), await completed(account, {})];
  await setEndpoint(account, null);
  await callBack(first);
  expect(await findCallback(account, first)).toMatchObject({ url: null, state: "none", attempts: [] });
  await setEndpoint(account, other);
  await callBack(second);
  expect(received.map(({ url }) => url)).toEqual([other]);
});

test("a failing receiver is called again after 5 s, 30 s, 2 min, 10 min, 1 h and 6 h with the same webhook-id, then no more", async () => {
  const account = await newAccount();
  const received = receivers({ [hook]: () => answers(500) });
  const id = await completed(account);
  await callBack(id);
  for (const seconds of [5, 30, 120, 600, 3_600, 21_600]) {
    const { state, next_attempt_at } = await findCallback(account, id);
    expect([state, next_attempt_at]).toEqual(["pending", Math.floor(Date.now() / 1000) + seconds]);
    const before = received.length;
    await pass(id, seconds - 1);
    await callBack(id);
    expect(received).toHaveLength(before);
    await pass(id, 1);
    await callBack(id);
    expect(received).toHaveLength(before + 1);
    verified(received.at(-1)!, await readSecret(account));
  }
  expect(await findCallback(account, id)).toMatchObject({ state: "failed", attempts: Array.from({ length: 7 }, () => ({ status: 500 })) });
  await pass(id, 40_000);
  await callBack(id);
  expect(received).toHaveLength(7);
  expect(new Set(received.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
  expect(new Set(received.map(({ body }) => body)).size).toBe(1);
});

test("a receiver that recovers is not called again", async () => {
  const account = await newAccount();
  let status = 503;
  const received = receivers({ [hook]: () => answers(status) });
  const id = await completed(account);
  await callBack(id);
  status = 200;
  await pass(id, 5);
  await callBack(id);
  await pass(id, 3_600);
  await callBack(id);
  expect(received).toHaveLength(2);
  expect(await findCallback(account, id)).toMatchObject({ state: "delivered", attempts: [{ status: 503 }, { status: 200 }] });
});

test("410 ends the callback at once, and the attempts show it", async () => {
  const account = await newAccount();
  const received = receivers({ [hook]: () => answers(410) });
  const id = await completed(account);
  await callBack(id);
  await pass(id, 21_600);
  await callBack(id);
  expect(received).toHaveLength(1);
  expect(await findCallback(account, id)).toMatchObject({ state: "gone", attempts: [{ status: 410 }] });
});

test.each([301, 302, 303, 307, 308])("a redirect (%i) is not followed and counts as a failed attempt", async (status) => {
  const account = await newAccount();
  const received = receivers({ [hook]: () => answers(status, { location: other }), [other]: ok });
  const id = await completed(account);
  await callBack(id);
  expect(received.map(({ url }) => url)).toEqual([hook]);
  expect(await findCallback(account, id)).toMatchObject({ state: "pending", attempts: [{ status }] });
});

test.each(["https://127.0.0.1/", "https://10.0.0.1/", "https://metadata.google.internal/", "https://gateway.example/v1/webhook"])(
  "%s is not called and not retried where private addresses are not allowed",
  async (url) => {
    const account = await newAccount();
    const received = receivers({});
    const id = await completed(account, { callback_url: url });
    await callBack(id, { ALLOW_PRIVATE_NETWORK: "off" });
    expect(received).toEqual([]);
    expect(await findCallback(account, id)).toMatchObject({ state: "failed", attempts: [{ fault: "blocked_url" }] });
  },
);

test("an attempt times out after ten seconds; a receiver that cannot be reached is retried", async () => {
  const account = await newAccount();
  const [slow, lost] = [await completed(account), await completed(account, { callback_url: other })];
  const limits = hurryTimeouts();
  receivers({ [hook]: hangs });
  await callBack(slow);
  await callBack(lost);
  expect(limits).toContain(10_000);
  expect(await findCallback(account, slow)).toMatchObject({ state: "pending", attempts: [{ fault: "timeout" }] });
  expect(await findCallback(account, lost)).toMatchObject({ state: "pending", attempts: [{ fault: "unreachable" }] });
});

test("an endless or dripping response body is not read: only its status counts", async () => {
  const account = await newAccount();
  const seen = { chunks: 0, cancelled: 0 };
  const endless = () =>
    new ReadableStream<Uint8Array>({
      pull(controller) {
        // Makes the test fail, instead of exhausting memory, if the body is read.
        if (++seen.chunks > 50) controller.close();
        else controller.enqueue(new Uint8Array(1024 * 1024));
      },
      cancel() {
        seen.cancelled++;
      },
    });
  const drips = () => new ReadableStream<Uint8Array>({ cancel: () => void seen.cancelled++ });
  receivers({ [hook]: () => new Response(endless()), [other]: () => new Response(drips()) });
  for (const url of [hook, other]) {
    const id = await completed(account, { callback_url: url });
    await callBack(id);
    expect(await findCallback(account, id)).toMatchObject({ state: "delivered", attempts: [{ status: 200 }] });
  }
  expect(seen.cancelled).toBe(2);
  expect(seen.chunks).toBeLessThanOrEqual(2);
});

test("if no consumer takes a callback within two seconds, the task object makes the call itself", async () => {
  const account = await newAccount();
  const received = receivers({ [hook]: ok });
  const id = await completed(account);
  await pass(id, 1);
  expect(received).toHaveLength(0);
  await pass(id, 1);
  expect(received).toHaveLength(1);
  await callBack(id);
  expect(received).toHaveLength(1);
  expect(await findCallback(account, id)).toMatchObject({ state: "delivered" });
});

test("its owner can send it again at once, with the same id, after success and after failure", async () => {
  const account = await newAccount();
  let status = 410;
  const received = receivers({ [hook]: () => answers(status) });
  const id = await completed(account);
  await callBack(id);
  status = 204;
  const repeat = () => call(`/v1/tasks/${id}/callback`, { key: account.key, method: "POST" });
  for (const count of [2, 3]) {
    expect(await repeat()).toMatchObject({ status: 200, body: { state: "pending" } });
    await callBack(id);
    expect(received).toHaveLength(count);
    expect(await findCallback(account, id)).toMatchObject({ state: "delivered", attempts: { length: count } });
  }
  expect(new Set(received.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
});

test("a task that never had a callback can be sent once there is an endpoint", async () => {
  const account = await newAccount();
  const received = receivers({ [hook]: ok });
  const id = await completed(account, {});
  const repeat = () => call(`/v1/tasks/${id}/callback`, { key: account.key, method: "POST", headers: { "accept-language": "zh" } });
  expect(await repeat()).toMatchObject({ status: 404, body: { code: 404, error: { code: "webhook_not_found", type: "invalid_request" } } });
  await setEndpoint(account, hook);
  expect((await repeat()).status).toBe(200);
  await callBack(id);
  expect(received).toHaveLength(1);
});

test("an open task is refused, another account's task is 404, and a body must be absent or JSON", async () => {
  const [account, stranger] = [await newAccount(), await newAccount()];
  const id = await submit(account, images, image({ callback_url: hook }));
  const path = `/v1/tasks/${id}/callback`;
  expect(await findCallback(account, id)).toMatchObject({ url: hook, state: "none", attempts: [] });
  expect(await call(path, { key: account.key, method: "POST" })).toMatchObject({
    status: 409,
    body: { code: 409, error: { code: "task_not_final" } },
  });
  expect((await call(path, { key: account.key, body: "[]" })).status).toBe(400);
  for (const method of ["GET", "POST"]) {
    expect((await call(path, { key: stranger.key, method })).body).toMatchObject({ code: 404, error: { code: "task_not_found" } });
    expect((await call(`/v1/tasks/task_x/callback`, { key: account.key, method })).status).toBe(404);
    expect((await call(path, { method })).status).toBe(401);
  }
  const wrong = await call(path, { key: account.key, method: "DELETE" });
  expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "GET, HEAD, POST"]);
});

test("for a day after a rotation both secrets sign, then only the new one", async () => {
  const account = await newAccount();
  const received = receivers({ [hook]: ok });
  const before = await readSecret(account);
  const after = (await call("/v1/webhook_secret", { key: account.key, method: "POST" })).body.secret as string;
  expect(await readSecret(account)).toBe(after);
  expect(after).not.toBe(before);
  const id = await completed(account);
  await callBack(id);
  for (const secret of [before, after]) verified(received[0]!, secret);
  await pass(id, 86_400);
  await call(`/v1/tasks/${id}/callback`, { key: account.key, method: "POST" });
  await callBack(id);
  verified(received[1]!, after);
  expect(() => verified(received[1]!, before)).toThrow("No matching signature found");
});

test("a database that does not answer postpones the call without using up an attempt", async () => {
  const account = await newAccount();
  const received = receivers({ [hook]: ok });
  const id = await completed(account);
  failOnce(bindings.statement(), "first");
  await callBack(id);
  expect(received).toEqual([]);
  await pass(id, 30);
  await callBack(id);
  expect(await findCallback(account, id)).toMatchObject({ state: "delivered", attempts: [{ status: 204 }] });
});

test("files and records are deleted on time, whatever the receiver does", async () => {
  const account = await newAccount();
  receivers({ [hook]: () => answers(500) });
  const id = await completed(account);
  await callBack(id);
  await pass(id, 86_400);
  for (let round = 0; round < 3; round++) await alarm(id);
  expect((await env.ASSETS.list({ prefix: `assets/${id}/` })).objects).toEqual([]);
  await pass(id, 604_800);
  for (let round = 0; round < 3; round++) await alarm(id);
  expect((await call(`/v1/tasks/${id}/callback`, { key: account.key })).status).toBe(404);
});

test("no log line contains the URL, the secret or the body", async () => {
  const account = await newAccount();
  const lines: string[] = [];
  for (const method of ["log", "error"] as const)
    vi.spyOn(console, method).mockImplementation((...values: unknown[]) => void lines.push(values.join(" ")));
  const secretUrl = "https://hooks.example.com/done?token=hunter2";
  receivers({});
  const id = await completed(account, { callback_url: secretUrl });
  await callBack(id);
  const line = lines.map((text) => JSON.parse(text) as Record<string, string>).find(({ unit }) => unit === "callback");
  expect(line).toMatchObject({ task: id, account: account.id, outcome: "unreachable", attempt: 1 });
  for (const secret of ["hunter2", "hooks.example.com", "whsec_"]) expect(lines.filter((text) => text.includes(secret))).toEqual([]);
});

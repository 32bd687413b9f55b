/** An object that restarts during a call, as every object does when a release is deployed: callers do not notice it. */

import { expect, test, vi } from "vitest";
import { call, complete, deliver, holdTime, image, newAccount, pass, submit, unique, upstreamCalls } from "../../support/gateway.ts";
import { begin, lines } from "../../support/batches.ts";
import { bindings, restartAt } from "../../support/faults.ts";
import { BatchObject } from "../../../src/api/batches/object.ts";
import { ClaimObject } from "../../../src/tasks/object/claim-object.ts";
import { TaskObject } from "../../../src/tasks/object/task-object.ts";
import { TokenObject } from "../../../src/tasks/object/token-object.ts";
import { WalletObject } from "../../../src/wallet/object.ts";

holdTime();

const images = "/v1/images/generations";
test("a deletion that was made before its answer was lost, of a task of today and of an old one", async () => {
  const account = await newAccount();
  for (const age of [0, 2 * 86_400]) {
    const id = await complete(account, images, image());
    if (age > 0) await pass(id, age);
    const remove = () => call(`/v1/tasks/${id}`, { key: account.key, method: "DELETE" });
    restartAt(TaskObject, "remove", true);
    expect([(await remove()).status, (await remove()).status]).toEqual([204, 404]);
  }
});

test("a cancellation that was made before its answer was lost", async () => {
  const account = await newAccount();
  const id = await submit(account, images, image());
  const cancel = () => call(`/v1/tasks/${id}/cancel`, { key: account.key, method: "POST" });
  restartAt(TaskObject, "cancel", true);
  expect(await cancel()).toMatchObject({ status: 200, body: { data: { error: { code: "cancelled" } } } });
  expect((await cancel()).status).toBe(409);
});

test.each([
  ["a receipt", "receipt", "/receipt", "GET"],
  ["the state of a callback", "read", "/callback", "GET"],
  ["a deletion", "remove", "", "DELETE"],
] as const)("%s", async (_, method, path, verb) => {
  const account = await newAccount();
  const id = await complete(account, images, image());
  restartAt(TaskObject, method);
  expect((await call(`/v1/tasks/${id}${path}`, { key: account.key, method: verb })).status).toBeLessThan(300);
});

test.each([
  ["a status query", "status", "", "GET"],
  ["a cancellation", "cancel", "/cancel", "POST"],
] as const)("%s", async (_, method, path, verb) => {
  const account = await newAccount();
  const id = await submit(account, images, image());
  restartAt(TaskObject, method);
  expect((await call(`/v1/tasks/${id}${path}`, { key: account.key, method: verb })).status).toBe(200);
});

test.each([
  ["a batch", "view", ""],
  ["the results of a batch", "results", "/results"],
] as const)("%s", async (_, method, path) => {
  const account = await newAccount();
  const id = await begin(account, { requests: lines(1) });
  restartAt(BatchObject, method);
  expect((await call(`/v1/batches/${id}${path}`, { key: account.key })).status).toBe(200);
});

test.each(["find", "create"])("a batch that begins, at %s", async (method) => {
  const account = await newAccount();
  restartAt(BatchObject, method);
  const body = { requests: lines(1) };
  expect((await call("/v1/batches", { key: account.key, body, headers: { "idempotency-key": unique() } })).status).toBe(201);
});

test.each([
  ["the balance", "balances", "/v1/balance"],
  ["the list of tasks", "unwritten", "/v1/tasks"],
  ["the events", "writeEnded", "/v1/events"],
  ["the usage", "writeEnded", "/v1/usage"],
] as const)("%s", async (_, method, path) => {
  const account = await newAccount();
  await complete(account, images, image());
  restartAt(WalletObject, method);
  expect((await call(path, { key: account.key })).status).toBe(200);
});

test.each([false, true])("the start of a task, which goes on at once: claimed %s", async (isDone) => {
  const account = await newAccount();
  const prompt = unique();
  const id = await submit(account, images, image({ prompt }));
  restartAt(TaskObject, "claim", isDone);
  expect(await deliver(id)).toBe("ack");
  expect((await upstreamCalls(prompt)).length).toBe(1);
});

test("a client token", async () => {
  const account = await newAccount();
  const { token } = (await call("/v1/tokens", { key: account.key, body: { tasks: 1, max_cost: 1, expires_in: 60 } })).body;
  restartAt(TokenObject, "open");
  expect((await call(images, { key: token, body: image() })).status).toBe(200);
});

test.each([
  ["the claim", ClaimObject, "find"],
  ["the task", TaskObject, "read"],
] as const)("a repeated submission, at %s of its key", async (_, object, method) => {
  const account = await newAccount();
  const sent = { key: account.key, body: image(), headers: { "idempotency-key": "order-1" } };
  const { body } = await call(images, sent);
  restartAt(object, method);
  expect((await call(images, sent)).body.id).toBe(body.id);
});

test("an object that has too many calls is not called again", async () => {
  const account = await newAccount();
  const id = await submit(account, images, image());
  const overloaded = async () => Promise.reject(Object.assign(new Error("too many calls"), { overloaded: true }));
  vi.spyOn(bindings.namespace(), "get").mockReturnValueOnce({ status: overloaded } as never);
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).status).toBe(503);
});

test.each([
  ["reset by a release", { remote: true, durableObjectReset: true }, 200],
  ["reset with a lost connection", { remote: true, retryable: true, durableObjectReset: true }, 200],
  ["reset at the limit of its memory", { remote: true, overloaded: true, durableObjectReset: true }, 200],
  ["whose connection was lost", { remote: true, retryable: true }, 200],
  ["whose own code failed", { remote: true }, 500],
])("an object %s, as the deployed platform reports it", async (_, flags, status) => {
  const account = await newAccount();
  const id = await submit(account, images, image());
  const broken = async () => Promise.reject(Object.assign(new Error("the object broke"), flags));
  const get = vi.spyOn(bindings.namespace(), "get").mockReturnValueOnce({ status: broken } as never);
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).status).toBe(status);
  if (status !== 200) return;
  get.mockReturnValue({ status: broken } as never);
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).status).toBe(503);
});

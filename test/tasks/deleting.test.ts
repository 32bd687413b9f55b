/** `DELETE /v1/tasks/{id}`: a final task's files and record are deleted for its owner, its ledger entry stays, whatever crashes. */

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { WalletObject } from "../../src/wallet/object.ts";
import { bindings, crash, failOnce, nothingStored, stopAt, openStorage, openStub } from "../support/faults.ts";
import {
  type Account,
  alarm,
  readBalance,
  call,
  complete,
  deliver,
  finish,
  holdTime,
  newAccount,
  pass,
  submit,
  unique,
  image,
  newTask,
} from "../support/gateway.ts";
import { callBack, receivers } from "../support/receiver.ts";

holdTime();

const path = "/v1/images/generations";
const price = 0.03;
const remove = (account: Account, id: string) => call(`/v1/tasks/${id}`, { key: account.key, method: "DELETE" });
const files = async (id: string) => (await env.ASSETS.list({ prefix: `assets/${id}/` })).objects.length;

/** The task is no longer visible, and its charge is still in the ledger. */
async function expectGone(account: Account, id: string): Promise<void> {
  for (const status of ["", "/callback", "/events"])
    expect((await call(`/v1/tasks/${id}${status}`, { key: account.key })).status).toBe(404);
  expect((await call(`/v1/tasks/${id}/cancel`, { key: account.key, method: "POST" })).status).toBe(404);
  expect((await remove(account, id)).status).toBe(404);
  expect((await call("/v1/tasks", { key: account.key })).body.data).toEqual([]);
  expect(await files(id)).toBe(0);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: price });
}

test("a completed task's files and record are deleted at once, its ledger entry stays, and its object's storage is deleted a day later", async () => {
  const account = await newAccount();
  const body = image();
  const id = await complete(account, path, body);
  // By now the answer to a repeated query is in the isolate's memory.
  const [{ url }] = (await call(`/v1/tasks/${id}`, { key: account.key })).body.data.result.images;
  const answer = await remove(account, id);
  expect([answer.status, answer.body.byteLength]).toEqual([204, 0]);
  await expectGone(account, id);
  expect((await call(url[0])).status).toBe(410);
  // The parameters are not in the object's storage any more.
  const record = await runInDurableObject(openStub(id), (_, ctx) => JSON.stringify(ctx.storage.kv.get("task")));
  expect([record.includes(id), record.includes(body.prompt)]).toEqual([true, false]);
  await pass(id, 86_400 + 120);
  expect(await openStorage(openStub(id))).toEqual(nothingStored);
});

test("an open task is 409, another account's and an unknown one are 404", async () => {
  const { account, id } = await newTask();
  expect((await remove(account, id)).body).toMatchObject({ code: 409, error: { code: "task_not_final" } });
  expect((await remove(await newAccount(), id)).status).toBe(404);
  expect((await remove(account, "task_x")).status).toBe(404);
  expect((await finish(account, id)).body.data.status).toBe("completed");
});

test("the idempotency key of a deleted task stays used: a late repeat is neither generated nor charged", async () => {
  const account = await newAccount();
  const body = image();
  const headers = { "idempotency-key": unique() };
  const id = await submit(account, path, body, headers);
  await finish(account, id);
  await remove(account, id);
  for (let time = 0; time < 2; time++) {
    const repeat = await call(path, { key: account.key, body, headers });
    expect([repeat.status, repeat.body.error.code]).toEqual([409, "idempotency_conflict"]);
    expect(repeat.body.error.message).toBe("This idempotency key was used for another request, or its task was deleted.");
  }
  await expectGone(account, id);
});

test("a callback that is still being retried ends when its task is deleted", async () => {
  const account = await newAccount();
  const received = receivers({ "https://receiver.example/hook": () => new Response(null, { status: 500 }) });
  const id = await complete(account, path, { ...image(), callback_url: "https://receiver.example/hook" });
  await callBack(id);
  expect(received).toHaveLength(1);
  await remove(account, id);
  await pass(id, 3_600);
  await deliver(id, "gateway-notify");
  expect(received).toHaveLength(1);
});

test.each([
  ["before its files are removed", false],
  ["after its files were removed", true],
])("%s the object crashes: the task is deleted, and the alarm removes the rest", async (_, isDone) => {
  const account = await newAccount();
  const id = await complete(account, path, image());
  const stopped = stopAt(bindings.bucket(), "delete", isDone);
  const answer = remove(account, id).catch(() => undefined);
  await stopped();
  await crash(openStub(id));
  await answer;
  vi.restoreAllMocks();
  await alarm(id);
  await expectGone(account, id);
});

test("the bucket does not answer: the task is deleted, and its files are deleted by the alarm", async () => {
  const account = await newAccount();
  const id = await complete(account, path, image());
  failOnce(bindings.bucket(), "delete", false, 1);
  expect((await remove(account, id)).status).toBe(204);
  await pass(id, 10);
  await expectGone(account, id);
});

test("while the settlement fails nothing is deleted: 503, and later it is", async () => {
  const { account, id } = await newTask();
  await deliver(id);
  await pass(id, 2);
  const spy = vi.spyOn(WalletObject.prototype, "settle").mockRejectedValue(new Error("scripted fault"));
  await deliver(id);
  expect((await remove(account, id)).status).toBe(503);
  spy.mockRestore();
  expect((await remove(account, id)).status).toBe(204);
  await expectGone(account, id);
});

/** Messages of newer code are delivered again later, and those of older code are read: neither is lost or misread. */

import { createExecutionContext, createMessageBatch, getQueueResult } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { TaskObject } from "../../src/tasks/object/task-object.ts";
import { WalletObject } from "../../src/wallet/object.ts";
import worker from "../../src/worker.ts";
import { bindings, spyOn } from "../support/faults.ts";
import { alarm, readBalance, call, deliver, finish, holdTime, newAccount, pass, submit } from "../support/gateway.ts";

holdTime();

const path = "/v1/images/generations";
const image = { model: "imgA-4", prompt: "a heron" };

/** Delivers a body to the consumer of a queue. */
async function deliverBody(queue: string, body: object) {
  const batch = createMessageBatch(queue, [{ id: crypto.randomUUID(), timestamp: new Date(), attempts: 1, body: body as never }]);
  const ctx = createExecutionContext();
  await worker.queue(batch, env, ctx);
  return getQueueResult(batch, ctx);
}

/** Raises the version in the first argument of an object's method, for this many calls. */
function raise(object: object, method: string, times = 1): void {
  const prototype = object as Record<string, (first: object, ...rest: unknown[]) => unknown>;
  const original = prototype[method]!;
  let left = times;
  vi.spyOn(prototype, method).mockImplementation(function (this: unknown, first, ...rest) {
    return original.call(this, left-- > 0 ? { ...first, v: ((first as { v?: number }).v ?? 0) + 1 } : first, ...rest);
  });
}

test("messages have a version, and one without a version is read as an older one", async () => {
  const send = spyOn(bindings.queue(), "send");
  const account = await newAccount();
  const id = await submit(account, path, image);
  expect(send.mock.calls.map(([body]) => body)).toContainEqual({ v: 1, taskId: id });
  expect(await deliver(id)).toBe("ack");
  expect((await finish(account, id)).body.data.status).toBe("completed");
});

test.each(["gateway-dispatch", "gateway-starts", "gateway-notify", "gateway-dead"])(
  "a message of a newer version is delivered to %s again after the deployment",
  async (queue) => {
    const account = await newAccount();
    const id = await submit(account, path, image);
    for (const body of [
      { v: 2, taskId: id },
      { v: 2, work: id },
    ]) {
      const { explicitAcks, retryMessages } = await deliverBody(queue, body);
      expect({ explicitAcks, retried: retryMessages.length }).toEqual({ explicitAcks: [], retried: 1 });
    }
    expect((await call(`/v1/tasks/${id}`, { key: account.key })).body.data.status).toBe("queued");
    expect((await finish(account, id)).body.data.status).toBe("completed");
  },
);

test("a submission of a newer version is refused, and nothing is held or stored", async () => {
  const account = await newAccount();
  raise(TaskObject.prototype, "create", 10);
  const { status, body } = await call(path, { key: account.key, body: image });
  expect({ status, code: body.error.code }).toEqual({ status: 503, code: "unavailable" });
  expect(await readBalance(account)).toMatchObject({ used: 0, reserved: 0 });
});

test("a hold of a newer version is refused, and its task is not created", async () => {
  const account = await newAccount();
  raise(WalletObject.prototype, "reserve", 10);
  expect((await call(path, { key: account.key, body: image })).status).toBe(503);
  expect(await readBalance(account)).toMatchObject({ used: 0, reserved: 0 });
});

test("a settlement of a newer version is repeated until the wallet supports it", async () => {
  const account = await newAccount();
  const id = await submit(account, path, image);
  raise(WalletObject.prototype, "settle");
  expect((await finish(account, id)).body.data.status).toBe("completed");
  await pass(id, 60);
  await alarm(id);
  expect(await readBalance(account)).toMatchObject({ used: 0.03, reserved: 0 });
});

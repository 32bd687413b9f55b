/** Receivers that never answer delay neither their own account's tasks and callbacks nor another's. Contract 7. */

import { createExecutionContext, createMessageBatch, getQueueResult, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import worker from "../../src/worker.ts";
import { bindings, spyOn, openStub } from "../support/faults.ts";
import { type Account, readBalance, complete, holdTime, newAccount, pass, shortenPauses } from "../support/gateway.ts";
import { callBack, findCallback, hangs, hurryTimeouts, ok, receivers } from "../support/receiver.ts";

holdTime();
shortenPauses();

const hanging = "https://hanging.example.com/";
const good = "https://good.example.com/";
const completeFor = (account: Account, callback_url: string) =>
  complete(account, "/v1/images/generations", { model: "imgA-4", prompt: "a fox", callback_url });

/** Timeouts of ten seconds, the time limit of a call, wait until the test releases them. */
function holdTimeouts(): () => void {
  const original = setTimeout;
  const held: (() => void)[] = [];
  vi.spyOn(globalThis, "setTimeout").mockImplementation(((run: () => void, ms = 0) =>
    ms === 10_000 ? held.push(run) : original(run, ms)) as never);
  return () => held.forEach((run) => run());
}

test("100 receivers hang: other tasks of the same and of another account are completed, settled and called back meanwhile", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  const release = holdTimeouts();
  const received = receivers({ [hanging]: hangs, [good]: ok });
  const ids: string[] = [];
  for (let count = 0; count < 100; count++) ids.push(await completeFor(account, hanging));
  const calls = ids.map((id) => callBack(id));
  await vi.waitFor(() => expect(received).toHaveLength(100), { timeout: 20_000 });

  for (const each of [account, other]) {
    const before = await readBalance(each);
    const id = await completeFor(each, good);
    await callBack(id);
    expect(await findCallback(each, id)).toMatchObject({ state: "delivered" });
    expect(await readBalance(each)).toMatchObject({ reserved: 0, used: Math.round((before.used + 0.03) * 100) / 100 });
  }
  // All of this happened before any of the hundred calls had timed out.
  expect(await findCallback(account, ids[99]!)).toMatchObject({ state: "pending", attempts: [] });

  release();
  expect(await Promise.all(calls)).toEqual(ids.map(() => "ack"));
  for (const id of ids) expect(await findCallback(account, id)).toMatchObject({ state: "pending", attempts: [{ fault: "timeout" }] });
}, 120_000);

test("calls of receivers have a separate queue: consumers that wait for a receiver do not delay generation", async () => {
  const account = await newAccount();
  const sends = spyOn(bindings.queue(), "send").mockClear();
  const id = await completeFor(account, hanging);
  const queues = await runInDurableObject(openStub(id), (instance) => (instance as unknown as { env: Env }).env);
  const names = sends.mock.contexts.map((queue) => (["DISPATCH", "STARTS", "NOTIFY"] as const).find((name) => queues[name] === queue));
  expect(names).toEqual(["DISPATCH", "DISPATCH", "NOTIFY"]);
});

test("a consumer is free when it has claimed a call: it does not wait for the receiver", async () => {
  const account = await newAccount();
  const release = holdTimeouts();
  const received = receivers({ [hanging]: hangs });
  const id = await completeFor(account, hanging);
  const batch = createMessageBatch("gateway-notify", [{ id: "1", timestamp: new Date(), attempts: 1, body: { taskId: id } }]);
  const ctx = createExecutionContext();
  await worker.queue(batch, env, ctx);
  await vi.waitFor(() => expect(received).toHaveLength(1));
  expect(await findCallback(account, id)).toMatchObject({ state: "pending", attempts: [] });

  release();
  expect(await getQueueResult(batch, ctx)).toMatchObject({ explicitAcks: ["1"], retryMessages: [] });
  expect(await findCallback(account, id)).toMatchObject({ state: "pending", attempts: [{ fault: "timeout" }] });
});

test("while all consumers are blocked by hanging receivers, each callback is made by its own object after two seconds", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  const slow = [await completeFor(account, hanging), await completeFor(account, hanging)];
  const quick = [await completeFor(account, good), await completeFor(other, good)];
  hurryTimeouts();
  const received = receivers({ [hanging]: hangs, [good]: ok });
  // No consumer is available.
  await Promise.all([...slow, ...quick].map((id) => pass(id, 2)));
  expect(received.filter(({ url }) => url === good)).toHaveLength(2);
  for (const id of slow) expect(await findCallback(account, id)).toMatchObject({ state: "pending", attempts: [{ fault: "timeout" }] });
});

/** Images of batches whose makers are busy: they wait without a charge or a failure, as their batch's chats do. Contract 16. */

// An account of a maker that is refused stays aside in later times.
import "../../support/alone.ts";
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { BatchObject } from "../../../src/api/batches/object.ts";
import { BatchStore } from "../../../src/api/batches/state.ts";
import { begin, forget, line, openTasks, pass, price, readResults, show, openBatch, wake } from "../../support/batches.ts";
import { crash, failOnce } from "../../support/faults.ts";
import {
  type Account,
  alarm,
  call,
  deliver,
  finish,
  holdTime,
  newAccount,
  readBalance,
  unique,
  upstreamCalls,
  shortenPauses,
} from "../../support/gateway.ts";
import { openWallet, readEntries } from "../../wallet/support.ts";
import { ok, receivers } from "../../support/receiver.ts";

shortenPauses();

beforeEach(holdTime);
afterEach(() => void vi.useRealTimers());

/** Refuses the starts of prompts with this word as busy, or with this status, while `isBusy`; returns their times. */
function refuseStarts(word: string, isBusy: () => boolean, status = 429): number[] {
  const asked: number[] = [];
  const upstream = Object.getPrototypeOf(env.SANDBOX) as Fetcher;
  // oxlint-disable-next-line typescript/unbound-method -- called with its object below
  const original = upstream.fetch;
  vi.spyOn(upstream, "fetch").mockImplementation(async function (this: unknown, ...values: Parameters<Fetcher["fetch"]>) {
    const request = new Request(...values);
    const isStart = request.method === "POST" && request.url === "http://sandbox/v1/operations";
    if (!isStart || !(await request.clone().text()).includes(word)) return original.apply(this, [request]);
    asked.push(Date.now());
    return isBusy()
      ? new Response(null, { status, headers: status === 429 ? { "retry-after": "30" } : {} })
      : original.apply(this, [request]);
  });
  return asked;
}

/** The ids of all tasks that have ended, also of those that no list has. */
async function allTasks(account: Account): Promise<string[]> {
  await openWallet(account).writeEnded();
  return (await readEntries(account)).map(({ taskId }) => taskId);
}

/** The ids and statuses in a list of tasks. */
const listed = async ({ key }: Account, query = ""): Promise<[id: string, status: string][]> =>
  (await call(`/v1/tasks?limit=100${query}`, { key })).body.data.map(({ id, status }: { id: string; status: string }) => [id, status]);

const images = (word: string, count: number, more: object = {}) =>
  Array.from({ length: count }, (_, at) => line(`${word}-${at}`, { prompt: `${word} ${at}`, ...more }));

test("images wait for hours while their makers are busy, at no cost; other models do not, and each is made and charged once", async () => {
  const account = await newAccount();
  const hook = "https://hooks.example.com/line";
  const calls = receivers({ [hook]: ok });
  const word = unique();
  let isBusy = true;
  const asked = refuseStarts(word, () => isBusy);
  const requests = [...images(word, 4, { callback_url: hook, reference: "order" }), ...images(unique(), 4, { model: "imgB-4o-image" })];
  const id = await begin(account, { requests, concurrency: 3, max_cost: 4 * price + 4 * 0.04 });
  await wake(id);
  await pass(account, id, 1.5);
  expect(await show(account, id)).toMatchObject({ status: "in_progress", counts: { completed: 4, failed: 0 } });
  // Each waits for five minutes, one at a time, and they begin less and less often.
  expect(asked.length).toBeLessThan(300);
  expect((await readBalance(account)).reserved).toBeLessThanOrEqual(price + 1e-9);
  for (const isWritten of [false, true]) {
    if (isWritten) await openWallet(account).writeEnded();
    for (const query of ["", "&reference=order", "&model=imgA-4", "&status=failed", "&reference=order&status=failed"])
      expect((await listed(account, query)).filter(([, status]) => status === "failed")).toEqual([]);
  }
  await crash(openBatch(id));
  isBusy = false;
  await pass(account, id, 1);
  expect(await show(account, id)).toMatchObject({ status: "completed", counts: { completed: 8, failed: 0 } });
  expect(await readBalance(account)).toMatchObject({ used: expect.closeTo(4 * price + 0.16, 9), reserved: 0 });
  const [sums] = (await call("/v1/usage?group_by=key", { key: account.key })).body.data;
  expect(sums).toMatchObject({ completed: 8, failed: 0, returned: 0 });
  const named = (await call("/v1/usage?group_by=reference", { key: account.key })).body.data;
  expect(named).toMatchObject(["order", null].map((reference) => ({ reference, completed: 4, failed: 0, returned: 0 })));
  const results = await readResults(account, id);
  const made = results.map(({ task }) => [task, "completed"]);
  expect(new Set(await listed(account))).toEqual(new Set(made));
  expect(new Set(await listed(account, "&reference=order"))).toEqual(new Set(made.slice(0, 4)));
  for (const task of await allTasks(account)) await deliver(task, "gateway-notify");
  expect(calls.map(({ url, body }) => [url, JSON.parse(body).type])).toEqual(Array.from({ length: 4 }, () => [hook, "task.completed"]));
  const events = (await call("/v1/events", { key: account.key })).body.data as { type: string }[];
  expect(events.map(({ type }) => type)).toEqual(Array.from({ length: 8 }, () => "task.completed"));
});

test.each([402, 404, 410])(
  "images wait for the operator while the last maker refuses the account or lacks the model: %i",
  async (status) => {
    const account = await newAccount();
    const word = unique();
    let isRefused = true;
    const asked = refuseStarts(word, () => isRefused, status);
    const id = await begin(account, { requests: images(word, 2), concurrency: 2 });
    await wake(id);
    await pass(account, id, 0.2);
    expect(await show(account, id)).toMatchObject({ status: "in_progress", counts: { completed: 0, failed: 0 } });
    expect(asked.length).toBeLessThan(80);
    isRefused = false;
    await pass(account, id, 1);
    expect(await show(account, id)).toMatchObject({ status: "completed", counts: { completed: 2, failed: 0 } });
    expect((await upstreamCalls(word)).filter((name) => name === "start")).toHaveLength(2);
    expect(await readBalance(account)).toMatchObject({ used: expect.closeTo(2 * price, 9), reserved: 0 });
  },
);

test("a line whose providers keep refusing it does not delay the other lines of its model", async () => {
  const account = await newAccount();
  const [word, refused] = [unique(), unique()];
  refuseStarts(refused, () => true);
  const id = await begin(account, { requests: [...images(refused, 1), ...images(word, 3)], concurrency: 1 });
  await wake(id);
  await pass(account, id, 1);
  expect(await show(account, id)).toMatchObject({ status: "in_progress", counts: { completed: 3, failed: 0 } });
});

test("while a maker is down its lines begin one at a time; those that it may have accepted fail and are not made again", async () => {
  const account = await newAccount();
  const word = unique();
  let isDown = true;
  refuseStarts(word, () => isDown, 502);
  const id = await begin(account, { requests: images(word, 24), concurrency: 4 });
  await wake(id);
  await pass(account, id, 0.2);
  const { status, counts } = await show(account, id);
  expect([status, counts.completed]).toEqual(["in_progress", 0]);
  expect(counts.failed).toBeLessThan(18);
  isDown = false;
  await pass(account, id, 1);
  const made = 24 - counts.failed;
  expect(await show(account, id)).toMatchObject({ status: "completed", counts: { completed: made, failed: counts.failed } });
  expect((await upstreamCalls(word)).filter((name) => name === "start")).toHaveLength(made);
  expect(await readBalance(account)).toMatchObject({ used: expect.closeTo(made * price, 9), reserved: 0 });
});

test("after a day of busy makers the rest of the model's images fail unasked, and the batch ends", async () => {
  const account = await newAccount();
  const word = unique();
  const asked = refuseStarts(word, () => true);
  const id = await begin(account, { requests: images(word, 3), concurrency: 1 });
  await wake(id);
  await pass(account, id, 0.2);
  expect(await show(account, id)).toMatchObject({ status: "in_progress", counts: { failed: 0 } });
  for (const task of await openTasks(account)) await finish(account, task);
  await runInDurableObject(openBatch(id), (_, { storage }) => {
    const store = new BatchStore(storage);
    const [kind] = Object.keys(store.current.refused!);
    store.write({ ...store.current, refused: { [kind!]: Date.now() - 86_400_000 } });
  });
  await forget(id);
  const before = asked.length;
  await pass(account, id, 1);
  expect(await show(account, id)).toMatchObject({ status: "completed", counts: { completed: 0, failed: 3 } });
  expect((await readResults(account, id)).map(({ error, task }) => [error!.code, task])).toEqual(
    Array.from({ length: 3 }, () => ["unavailable", undefined]),
  );
  // One line has found out.
  expect(asked.length - before).toBeLessThan(30);
  expect(await readBalance(account)).toMatchObject({ used: 0, reserved: 0 });
});

test("cancelling a batch cancels its images that wait for busy makers", async () => {
  const account = await newAccount();
  const word = unique();
  let isBusy = true;
  const asked = refuseStarts(word, () => isBusy);
  const id = await begin(account, { requests: images(word, 3), concurrency: 2 });
  await wake(id);
  await wake(id);
  for (const task of await openTasks(account)) await finish(account, task, 2);
  expect(asked.length).toBeGreaterThan(1);
  expect((await call(`/v1/batches/${id}/cancel`, { key: account.key, method: "POST" })).status).toBe(200);
  isBusy = false;
  const before = asked.length;
  for (let turn = 0; turn < 3; turn++) await wake(id);
  expect(await show(account, id)).toMatchObject({ status: "cancelled", counts: { completed: 0, failed: 3 } });
  expect(asked.length).toBe(before);
  expect(await readBalance(account)).toMatchObject({ used: 0, reserved: 0 });
});

test.each([true, false])("a lost report of busy makers makes the line once: taken %s", async (isTaken) => {
  const account = await newAccount();
  const word = unique();
  let isBusy = true;
  const asked = refuseStarts(word, () => isBusy);
  const id = await begin(account, { requests: images(word, 2), concurrency: 2 });
  await wake(id);
  await wake(id);
  failOnce(BatchObject.prototype as never, "lineEnded", isTaken, 2);
  await pass(account, id, 0.5);
  isBusy = false;
  // The report is repeated also when the line has begun again.
  for (const task of await allTasks(account)) await alarm(task);
  await pass(account, id, 1);
  expect(await show(account, id)).toMatchObject({ status: "completed", counts: { completed: 2, failed: 0 } });
  expect((await upstreamCalls(word)).filter((name) => name === "start")).toHaveLength(2);
  expect(asked.length).toBeGreaterThan(10);
  expect(await readBalance(account)).toMatchObject({ used: expect.closeTo(2 * price, 9), reserved: 0 });
});

/** Budget alerts: one event for each window and threshold, stored with the hold that reaches it, delivered until the receiver accepts it. Contract 4 and 7. */

import { createExecutionContext, createMessageBatch, getQueueResult, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { Webhook } from "standardwebhooks";
import { expect, test, vi } from "vitest";
import { budgetReachedEvent } from "../../../src/api/schema/callbacks.ts";
import type { AlertMessage, BudgetAlert } from "../../../src/wallet/alerts.ts";
import type { WalletState } from "../../../src/wallet/state.ts";
import worker from "../../../src/worker.ts";
import { bindings, failOnce, spyOn } from "../../support/faults.ts";
import { type Account, asAdmin, call, finish, holdTime, newAccount, submit, unique, wakeWallet } from "../../support/gateway.ts";
import { ok, receivers, readSecret, setEndpoint } from "../../support/receiver.ts";
import { crashWallet, newCharge, openWallet } from "../../wallet/support.ts";

holdTime();

const images = "/v1/images/generations";
const image = (n = 1) => ({ model: "imgA-4", prompt: unique(), n }); // 0.03 each
const dayMs = 86_400_000;
const nextDay = () => Math.floor(Date.now() / dayMs + 1) * dayMs;
const hook = "https://hooks.example.com/budgets";

/** An account whose key has a daily budget of `amount` millionths, an hour after midnight. */
async function limited(amount: number): Promise<Account> {
  vi.setSystemTime(nextDay() + 3_600_000);
  const account = await newAccount();
  await env.WALLETS.getByName(account.id).changeBudget(account.keyId, { amount, window: "day" });
  return account;
}

const buy = async ({ key }: Account, n = 1) => (await call(images, { key, body: image(n) })).status;

/** The alerts that the object has stored and not yet sent to the queue. */
const stored = (account: Account): Promise<BudgetAlert[]> =>
  runInDurableObject(openWallet(account), (_, { storage }) => storage.kv.get<WalletState>("wallet")?.alerts ?? []);

/** The account's messages that the alarm has sent to the queue. */
async function sent(account: Account): Promise<AlertMessage[]> {
  const batches = spyOn(bindings.queue(), "sendBatch").mockClear();
  await wakeWallet(account);
  return batches.mock.calls
    .flatMap(([messages]) => (messages as { body: AlertMessage }[]).map(({ body }) => body))
    .filter(({ budget }) => budget.accountId === account.id);
}

/** Delivers a message for the `attempts`-th time. Returns "ack", or the seconds until the queue delivers it again. */
async function deliverAlert(body: AlertMessage, attempts = 1): Promise<"ack" | number | undefined> {
  const batch = createMessageBatch("gateway-notify", [{ id: "1", timestamp: new Date(), attempts, body }]);
  const retries = vi.spyOn(batch.messages[0]!, "retry");
  await worker.queue(batch, env, createExecutionContext());
  const { explicitAcks } = await getQueueResult(batch, createExecutionContext());
  return explicitAcks.length > 0 ? "ack" : retries.mock.calls[0]?.[0]?.delaySeconds;
}

test("each budget causes one alert at 80 and one at 100 % in a window, by callback and by e-mail, and again in the next window", async () => {
  const account = await limited(100_000);
  expect(await buy(account, 2)).toBe(200);
  expect(await stored(account)).toEqual([]);
  expect(await buy(account)).toBe(200);
  const until = nextDay();
  const data = { percent: 80, amount: 0.1, window: "day", spent: 0.09, ends_at: until / 1000 };
  const eighty = { accountId: account.id, keyId: account.keyId, data };
  expect(await stored(account)).toMatchObject([eighty]);
  // The remaining budget does not suffice for a request.
  for (let again = 0; again < 3; again++) expect(await buy(account)).toBe(402);
  expect(await stored(account)).toMatchObject([eighty, { ...eighty, data: { ...data, percent: 100 } }]);
  const messages = await sent(account);
  expect(messages.map(({ budget, by }) => [budget.data.percent, by])).toEqual([
    [80, "callback"],
    [80, "mail"],
    [100, "callback"],
    [100, "mail"],
  ]);
  expect(new Set(messages.map(({ budget }) => budget.id)).size).toBe(2);
  expect(await buy(account)).toBe(402);
  expect(await stored(account)).toEqual([]);
  vi.setSystemTime(until);
  expect(await buy(account, 3)).toBe(200);
  expect(await stored(account)).toMatchObject([{ data: { percent: 80, spent: 0.09, ends_at: nextDay() / 1000 } }]);
});

test("a hold that reaches the whole budget at once causes two alerts; released and held again, the same amount causes none", async () => {
  const account = await limited(60_000);
  const id = await submit(account, images, image(2));
  expect((await stored(account)).map(({ data }) => data.percent)).toEqual([80, 100]);
  await call(`/v1/tasks/${id}/cancel`, { key: account.key, method: "POST" });
  await finish(account, await submit(account, images, image(2)));
  expect(await stored(account)).toHaveLength(2);
});

test("parallel requests that cross a threshold together cause one alert", async () => {
  const account = await limited(200_000);
  const answers = await Promise.all(Array.from({ length: 12 }, () => buy(account)));
  expect(answers.filter((status) => status === 200)).toHaveLength(6);
  expect((await stored(account)).map(({ data }) => data.percent)).toEqual([80, 100]);
});

test("parallel requests that all find a new window cause one alert", async () => {
  const account = await limited(2_000);
  const hold = async (amount: number) => openWallet(account).reserve(newCharge(account), amount, {});
  await hold(10);
  const first = newCharge(account); // its grant is enough for all
  await openWallet(account).reserve(first, 1_000, {});
  await openWallet(account).settle(first, 0, "completed");
  await openWallet(account).writeEnded();
  await openWallet(account).changeBudget(account.keyId, { amount: 1_000, window: "day" });
  vi.setSystemTime(nextDay());
  const queries = spyOn(bindings.database(), "batch").mockClear();
  expect(await Promise.all([900, 1, 1].map(hold))).toEqual([1, 2, 3].map(() => ({ answer: "reserved" })));
  expect((await stored(account)).map(({ data }) => data.percent)).toEqual([80]);
  expect(queries, "one of them reads the window").toHaveBeenCalledTimes(1);
});

test("the account's budget causes alerts beside the key's; setting the same budget again causes none, another one does", async () => {
  const account = await limited(30_000);
  const give = (path: string, amount: number) => asAdmin(path, { method: "PATCH", body: { budget: { amount, window: "day" } } });
  await give(`/accounts/${account.id}`, 0.03);
  await buy(account);
  const who = async () => (await stored(account)).map(({ keyId, data }) => [keyId, data.percent]);
  const four = [
    [undefined, 80],
    [undefined, 100],
    [account.keyId, 80],
    [account.keyId, 100],
  ];
  expect(await who()).toEqual(four);
  await give(`/accounts/${account.id}`, 0.03);
  await give(`/keys/${account.keyId}`, 0.03);
  expect(await buy(account)).toBe(402);
  expect(await who()).toEqual(four);
  await give(`/keys/${account.keyId}`, 0.05);
  await give(`/accounts/${account.id}`, 9);
  expect(await buy(account)).toBe(402);
  expect(await who()).toEqual([...four, [account.keyId, 100]]);
});

test("an alert adds one row to the hold that reaches the threshold, and none to others", async () => {
  const account = await limited(0);
  await env.WALLETS.getByName(account.id).changeBudget(account.keyId, null);
  const wallet = openWallet(account);
  const charge = () => ({ taskId: unique(), accountId: account.id, keyId: account.keyId, kind: "chat", model: "textA-1" });
  // The object has an unused grant, and an alarm earlier than that of any hold.
  const first = charge();
  await wallet.reserve(first, 100_000, {});
  await wallet.settle(first, 0, "completed");
  await env.WALLETS.getByName(account.id).changeBudget(account.keyId, { amount: 100_000, window: "day" });
  await wallet.balances([account.keyId]);
  const hold = async (amount: number) => {
    const [puts, alarms] = await runInDurableObject(wallet, (_, { storage }) => [
      vi.spyOn(Object.getPrototypeOf(storage.kv) as { put: () => void }, "put").mockClear(),
      vi.spyOn(Object.getPrototypeOf(storage) as { setAlarm: () => Promise<void> }, "setAlarm").mockClear(),
    ]);
    expect(await wallet.reserve(charge(), amount, {})).toEqual({ answer: "reserved" });
    return [puts.mock.calls.length, alarms.mock.calls.length];
  };
  expect(await hold(79_000)).toEqual([1, 0]);
  expect(await hold(1_000)).toEqual([2, 0]);
  expect(await hold(1_000)).toEqual([1, 0]);
  expect(await hold(19_000)).toEqual([2, 0]);
  expect((await stored(account)).map(({ data }) => [data.percent, data.spent])).toEqual([
    [80, 0.08],
    [100, 0.1],
  ]);
});

test("an alert survives crashes and faults of the queue, with the same id, until the queue has accepted it", async () => {
  const account = await limited(35_000);
  await buy(account);
  await crashWallet(account);
  const [alert, ...others] = await stored(account);
  expect([alert!.data.percent, others]).toEqual([80, []]);
  // First the queue does not answer; then it accepts the messages, and its answer is lost.
  for (const isDone of [false, true]) {
    failOnce(bindings.queue(), "sendBatch", isDone);
    vi.setSystemTime(Date.now() + 10_000);
    await wakeWallet(account);
    vi.restoreAllMocks();
    await crashWallet(account);
    expect(await stored(account)).toEqual([alert]);
  }
  vi.setSystemTime(Date.now() + 10_000);
  expect((await sent(account)).map(({ budget }) => budget)).toEqual([alert, alert]);
  expect(await stored(account)).toEqual([]);
  // Reading the window again after a crash creates no second alert.
  await crashWallet(account);
  await openWallet(account).reserve(
    { taskId: unique(), accountId: account.id, keyId: account.keyId, kind: "chat", model: "textA-1" },
    1,
    {},
  );
  expect(await stored(account)).toEqual([]);
});

test("the account's endpoint gets a signed event with the key's name; a failed delivery is retried with the same id until it is accepted", async () => {
  const account = await limited(30_000);
  await setEndpoint(account, hook);
  await buy(account);
  const [callback] = await sent(account);
  const statuses = [500, 302, 204];
  const received = receivers({ [hook]: () => new Response(null, { status: statuses[received.length - 1]! }) });
  expect(await deliverAlert(callback!)).toBe(5);
  expect(await deliverAlert(callback!, 2)).toBe(30);
  expect(await deliverAlert(callback!, 3)).toBe("ack");
  expect(received.map(({ headers }) => headers["webhook-id"])).toEqual(Array(3).fill(callback!.budget.id));
  const secret = await readSecret(account);
  for (const { body, headers } of received) {
    const event = budgetReachedEvent.parse(new Webhook(secret).verify(body, headers));
    expect(event).toEqual({
      type: "budget.reached",
      timestamp: new Date(callback!.budget.at).toISOString(),
      data: {
        object: "budget",
        key: { id: account.keyId, name: "test" },
        percent: 80,
        amount: 0.03,
        window: "day",
        spent: 0.03,
        ends_at: nextDay() / 1000,
      },
    });
  }
});

test("a receiver that never answers is called seven times; 410, a removed endpoint and a deleted key stop the calls", async () => {
  const account = await limited(30_000);
  await buy(account);
  const [callback] = await sent(account);
  // Nothing is sent without an endpoint, nor without a binding for e-mail.
  expect(await deliverAlert(callback!)).toBe("ack");
  await setEndpoint(account, hook);
  receivers({});
  const delays = [];
  for (let attempt = 1; attempt <= 6; attempt++) delays.push(await deliverAlert(callback!, attempt));
  expect(delays).toEqual([5, 30, 120, 600, 3_600, 21_600]);
  // After the last attempt the queue moves the message to the dead-letter queue, which ends it.
  const dead = createMessageBatch("gateway-dead", [{ id: "1", timestamp: new Date(), attempts: 1, body: callback! }]);
  await worker.queue(dead, env, createExecutionContext());
  expect((await getQueueResult(dead, createExecutionContext())).retryMessages).toEqual([]);
  vi.restoreAllMocks();
  const gone = receivers({ [hook]: () => new Response(null, { status: 410 }) });
  expect(await deliverAlert(callback!)).toBe("ack");
  expect(gone).toHaveLength(1);
  vi.restoreAllMocks();
  await asAdmin(`/keys/${account.keyId}`, { method: "DELETE" });
  const none = receivers({ [hook]: ok });
  expect(await deliverAlert(callback!)).toBe("ack");
  expect(none).toHaveLength(0);
});

/** Automatic top-up: one payment when the balance is low, within the ceiling, never twice, and never again after one that failed. */

import "../support/alone.ts";
import { env } from "cloudflare:workers";
import { beforeEach, expect, test, vi } from "vitest";
import { findTopUp } from "../../src/db/top-ups.ts";
import type { TopUpPause } from "../../src/rpc/payment-objects.ts";
import { bindings, failOnce } from "../support/faults.ts";
import { type Account, asAdmin, call, holdTime, newAccount, wakeWallet } from "../support/gateway.ts";
import { backUp, restore } from "../operations/backup.ts";
import type { StripeObject } from "../support/stripe.ts";
import { newCharge, openWallet } from "../wallet/support.ts";
import { Shop, shopWith } from "./support.ts";

holdTime();
const toNextMonth = (day: number, minutes = 0) =>
  vi.setSystemTime(Date.UTC(new Date().getUTCFullYear(), new Date().getUTCMonth() + 1, day, 0, minutes));
// What is taken counts by month: no test comes to the end of one by chance.
toNextMonth(10);
beforeEach(holdTime);

const minute = 60_000;
const later = (ms = 5 * minute) => vi.setSystemTime(Date.now() + ms);
const quota = async ({ id }: Account): Promise<number> => (await asAdmin(`/accounts/${id}`)).body.quota;
const setQuota = ({ id }: Account, units: number) => asAdmin(`/accounts/${id}`, { method: "PATCH", body: { quota: units } });
const charges = (shop: Shop) => shop.stripe.calls.filter((one) => one === "POST /v1/payment_intents").length;
const state = ({ id }: Account) => findTopUp(env.DB, id, Date.now());

/** Runs the cron trigger some times, five minutes apart. */
async function runs(shop: Shop, times: number, vars: Partial<Env> = {}): Promise<void> {
  for (let time = 0; time < times; time++) {
    later();
    await shop.run(vars);
  }
}

/** A console that collects what it is asked to send. */
function mailbox(): { sent: TopUpPause[]; vars: Partial<Env> } {
  const sent: TopUpPause[] = [];
  return {
    sent,
    vars: { CONSOLE: { mailTopUp: async (pause: TopUpPause) => (sent.push(pause), true) } as unknown as NonNullable<Env["CONSOLE"]> },
  };
}

test("a low balance is topped up once; the event that follows changes nothing, and a balance that is high enough is left alone", async () => {
  const { shop, account } = await shopWith(6);
  expect(await shop.topUp(account)).toMatchObject({ url: expect.stringContaining("checkout.stripe.com") });
  await runs(shop, 3);
  expect([await quota(account), charges(shop)]).toEqual([6, 0]);
  await setQuota(account, 4);
  await runs(shop, 1);
  expect([await quota(account), charges(shop)]).toEqual([14, 1]);
  await shop.deliver();
  await runs(shop, 3);
  expect([await quota(account), charges(shop)]).toEqual([14, 1]);
  expect(await state(account)).toMatchObject({ taken: 1000, pausedAt: null });
  const log = await call("/v1/audit_log?act=top_up_changed", { key: account.key });
  expect(log.body.data).toMatchObject([
    { actor: { kind: "user", id: "u1" }, after: { below: 5, add: 10, money: 10, at_most_a_month: 30, currency: "usd" } },
  ]);
});

test("a top-up after a change of the price takes the same money, and adds what it buys now", async () => {
  const vars: Partial<PaymentsBindings> = { BALANCE_UNIT: "TOKENS", TOKENS_PER_USD: "2" };
  const shop = new Shop(vars);
  const account = await newAccount(4);
  await shop.topUp(account, { threshold: 5, amount: 20, ceiling: 60 });
  await runs(shop, 1);
  expect(await quota(account)).toBe(24);
  vars.TOKENS_PER_USD = "1";
  await setQuota(account, 4);
  await runs(shop, 1);
  expect([await quota(account), charges(shop), (await state(account))!.taken]).toEqual([14, 2, 2000]);
  // A top-up that was agreed to in another currency takes nothing, nor does one that is too large to be credited.
  await setQuota(account, 4);
  for (const changed of [{ BALANCE_UNIT: "CNY" }, { BALANCE_UNIT: "TOKENS", TOKENS_PER_USD: "999999999" }]) {
    Object.assign(vars, changed);
    await runs(shop, 1);
    expect([await quota(account), charges(shop)]).toEqual([4, 2]);
  }
  await setQuota(account, 100); // for the runs of other tests
});

test("the ceiling of the month holds, and the next month begins anew", async () => {
  const { shop, account } = await shopWith(1);
  await shop.topUp(account);
  for (let time = 0; time < 6; time++) {
    await runs(shop, 1);
    await setQuota(account, 1);
  }
  expect([charges(shop), (await state(account))?.taken]).toEqual([3, 3000]);
  toNextMonth(1, 1);
  await runs(shop, 2);
  expect([charges(shop), (await state(account))?.taken]).toEqual([4, 1000]);
});

test.each(["declined", "asks"] as const)(
  "a payment that is %s: nothing is added, top-up is paused, owners are told once, and a person resumes it",
  async (bank) => {
    const { shop, account } = await shopWith(1);
    const mails = mailbox();
    await shop.topUp(account, undefined, bank);
    await runs(shop, 5, mails.vars);
    expect([await quota(account), charges(shop)]).toEqual([1, 1]);
    expect(mails.sent).toEqual([{ accountId: account.id, amount: 10_000_000, reason: "declined" }]);
    expect(await state(account)).toMatchObject({ pausedFor: "declined", taken: 0 });
    expect([...shop.stripe.intents.values()]).toMatchObject([{ status: "canceled" }]);
    expect((await call("/v1/audit_log?act=top_up_changed", { key: account.key })).body.data).toMatchObject([
      { actor: { kind: "system", id: "stripe" }, after: { paused: "declined" } },
      {},
    ]);
    for (const card of shop.stripe.cards.keys()) shop.stripe.cards.set(card, "good");
    expect(await shop.topUp(account)).toEqual({});
    await runs(shop, 2, mails.vars);
    expect([await quota(account), charges(shop), mails.sent.length]).toEqual([11, 2, 1]);
  },
);

test("a card whose customer Stripe does not know is as one that is declined, and another card goes on", async () => {
  const { shop, account } = await shopWith(4);
  await shop.topUp(account);
  shop.stripe.customers.clear(); // made with the key of the test mode
  await runs(shop, 1);
  expect([await quota(account), charges(shop), await state(account)]).toMatchObject([4, 0, { pausedFor: "declined" }]);
  const order = {
    accountId: account.id,
    settings: { threshold: 5e6, amount: 1e7, ceiling: 3e7 },
    wantsCard: true,
    returnUrl: "https://gateway.example",
  };
  const { url } = (await shop.change(order)) as { url: string };
  later();
  shop.stripe.storeCard(url.split("/").at(-1)!);
  await shop.deliver();
  await runs(shop, 1);
  expect([await quota(account), charges(shop)]).toEqual([14, 1]);
});

test("a payment that Stripe does not know any more has failed, and keeps no other waiting", async () => {
  const { shop, account } = await shopWith(4);
  await shop.topUp(account, undefined, "slow");
  await runs(shop, 1);
  shop.stripe.intents.clear(); // made with the key of the test mode
  await runs(shop, 1);
  expect([await quota(account), charges(shop), await state(account)]).toMatchObject([4, 1, { pausedFor: "declined" }]);
});

test("e-mail that fails is tried again for a day", async () => {
  const { shop, account } = await shopWith(1);
  await shop.topUp(account, undefined, "declined");
  const broken = { CONSOLE: { mailTopUp: () => Promise.reject(new Error("no mail")) } as unknown as NonNullable<Env["CONSOLE"]> };
  await runs(shop, 2, broken);
  const mails = mailbox();
  await runs(shop, 2, mails.vars);
  expect(mails.sent).toHaveLength(1);
});

test("an answer of Stripe that is lost: the next run asks for the same payment, which is taken and credited once", async () => {
  const { shop, account } = await shopWith(1);
  await shop.topUp(account);
  await runs(shop, 1); // the daily look
  expect(await quota(account)).toBe(11);
  await setQuota(account, 1);
  shop.stripe.events.splice(0);
  shop.stripe.chargeFaults.push("lost", "lost");
  await runs(shop, 1);
  expect(await quota(account)).toBe(1);
  await runs(shop, 2);
  expect([await quota(account), shop.stripe.intents.size]).toEqual([11, 2]);
  await shop.deliver();
  expect(await quota(account)).toBe(11);
});

test("a payment whose outcome was unknown for a day is looked up, not repeated", async () => {
  for (const fault of ["lost", 500] as const) {
    const { shop, account } = await shopWith(6);
    await shop.topUp(account);
    await runs(shop, 2); // the daily look
    await setQuota(account, 1);
    shop.stripe.chargeFaults.push(...Array.from({ length: 2 }, () => fault));
    await runs(shop, 1);
    shop.stripe.events.splice(0);
    later(25 * 60 * minute);
    await runs(shop, 1);
    // Made, and found; or never made: then top-up waits for a person.
    expect([await quota(account), charges(shop)]).toEqual([fault === "lost" ? 11 : 1, 2]);
    expect((await state(account))?.pausedFor ?? null).toBe(fault === "lost" ? null : "declined");
  }
});

test("runs at the same time take one payment", async () => {
  const { shop, account } = await shopWith(1);
  await shop.topUp(account);
  later();
  await Promise.all([1, 2, 3, 4].map(() => shop.run()));
  await runs(shop, 2);
  expect([await quota(account), shop.stripe.intents.size]).toEqual([11, 1]);
});

test.each(["first", "run", "batch"])("a fault of the database (%s): the next runs top up once", async (method) => {
  for (let skip = 0; skip < 4; skip++) {
    const { shop, account } = await shopWith(1);
    await shop.topUp(account);
    later();
    failOnce(method === "batch" ? bindings.database() : bindings.statement(), method, skip % 2 === 1);
    await shop.run().catch(() => undefined);
    await runs(shop, 3);
    expect([await quota(account), shop.stripe.intents.size]).toEqual([11, 1]);
  }
});

test("a bank that takes its time: nothing else is taken, and its decision counts", async () => {
  for (const isPaid of [true, false]) {
    const { shop, account } = await shopWith(1);
    await shop.topUp(account, undefined, "slow");
    await runs(shop, 3);
    expect([await quota(account), charges(shop)]).toEqual([1, 1]);
    const [intent] = [...shop.stripe.intents.keys()] as [string];
    shop.stripe.decide(intent, isPaid);
    shop.stripe.events.splice(0);
    await runs(shop, 2);
    expect([await quota(account), charges(shop), (await state(account))?.pausedFor ?? null]).toEqual(
      isPaid ? [11, 1, null] : [1, 1, "declined"],
    );
  }
});

test("a dispute pauses top-up, once; what an account owes is not taken from its card", async () => {
  const { shop, account } = await shopWith(1);
  const mails = mailbox();
  await shop.topUp(account);
  await runs(shop, 1);
  const [intent] = [...shop.stripe.intents.values()] as [StripeObject];
  await call("/v1/images/generations", { key: account.key, body: { model: "imgA-4", prompt: "a lighthouse" } });
  const dispute = shop.stripe.dispute(intent.id);
  await shop.deliver();
  await runs(shop, 2, mails.vars);
  expect(mails.sent.filter(({ accountId }) => accountId === account.id)).toMatchObject([{ reason: "disputed" }]);
  expect([(await state(account))?.pausedFor, charges(shop)]).toEqual(["disputed", 1]);
  await shop.topUp(account);
  shop.stripe.setDispute(dispute.id, "lost");
  await shop.deliver();
  expect((await state(account))?.pausedFor).toBeNull();
  await setQuota(account, 2);
  shop.stripe.refund(intent.id, 1000);
  await shop.deliver();
  await runs(shop, 2);
  expect(charges(shop), "the account owes").toBe(1);
});

test("fifty payments that banks work on keep no interrupted one waiting", async () => {
  const shop = new Shop();
  const ids = Array.from({ length: 50 }, (_, at) => `pi_slow${at}`);
  for (const id of ids) shop.stripe.intents.set(id, { id, object: "payment_intent", status: "processing", metadata: {} });
  await env.DB.batch(
    ids.map((id) =>
      env.DB.prepare(
        `INSERT INTO payment (id, account_id, created_at, money, currency, amount, state, automatic, method_id, intent_id)
         VALUES ('pay_' || ?1, 'acc_' || ?1, 1, 1, 'usd', 1, 'open', 1, 'pm_1', ?1)`,
      ).bind(id),
    ),
  );
  const account = await newAccount(1);
  await shop.topUp(account);
  shop.stripe.chargeFaults.push("lost", "lost");
  await runs(shop, 3);
  expect([await quota(account), charges(shop)]).toEqual([11, 2]);
  await env.DB.prepare("DELETE FROM payment WHERE account_id LIKE 'acc_pi_slow%'").run();
});

test("top-up goes on once an open task has returned what a refund took beyond the quota", async () => {
  const { shop, account } = await shopWith(null);
  await setQuota(account, 1);
  await shop.topUp(account);
  await runs(shop, 1);
  const [intent] = [...shop.stripe.intents.values()] as [StripeObject];
  await shop.deliver();
  const charge = newCharge(account);
  await openWallet(account).reserve(charge, 9e6, {});
  shop.stripe.refund(intent.id, 900);
  await shop.deliver();
  await runs(shop, 2);
  expect([await quota(account), charges(shop)], "it owes").toEqual([9, 1]);
  await openWallet(account).settle(charge, 0, "cancelled");
  later();
  await wakeWallet(account);
  later();
  await wakeWallet(account);
  await runs(shop, 2);
  expect([await quota(account), charges(shop)]).toEqual([12, 2]);
});

test("disabled, switched off and erased accounts pay nothing", async () => {
  const shop = new Shop();
  const [disabled, off, erased] = [await newAccount(1), await newAccount(1), await newAccount(1)];
  for (const account of [disabled, off, erased]) await shop.topUp(account);
  await asAdmin(`/accounts/${disabled.id}`, { method: "PATCH", body: { disabled: true } });
  const order = { accountId: off.id, settings: null, wantsCard: false, returnUrl: "https://gateway.example/" };
  expect(await shop.change(order)).toEqual({});
  await asAdmin(`/accounts/${erased.id}`, { method: "DELETE" });
  await runs(shop, 2);
  expect(charges(shop)).toBe(0);
  expect([await state(off), await state(erased)]).toEqual([undefined, undefined]);
});

test("top-up that was switched off takes nothing after a restore: not before the operator's decision, and not after a replay", async () => {
  const { shop, account } = await shopWith(6);
  await shop.topUp(account);
  await runs(shop, 1); // the daily look
  const backup = await backUp();
  later();
  await shop.change({ accountId: account.id, settings: null, wantsCard: false, returnUrl: "https://gateway.example/" });
  await setQuota(account, 1);
  later();
  await wakeWallet(account);
  await restore(backup);
  expect(await state(account)).toBeDefined();
  await runs(shop, 3);
  expect([charges(shop), (await asAdmin(`/accounts/${account.id}`)).body.restored]).toEqual([0, true]);
  const { body } = await asAdmin(`/reconcile?account=${account.id}&restored=replay`, { method: "POST" });
  expect(body.restored).toMatchObject([{ state: "replayed", changes: [{ change: "top_up" }] }]);
  await runs(shop, 2);
  expect([charges(shop), await state(account)]).toEqual([0, undefined]);
});

test.each(["paid", "declined"])(
  "payments that a restored database lost (%s) are read from Stripe before the next one is taken",
  async (how) => {
    const { shop, account } = await shopWith(6);
    await shop.topUp(account);
    await runs(shop, 2); // the daily look
    const backup = await backUp();
    for (let time = 0; time < 2; time++) {
      await setQuota(account, 1);
      await runs(shop, 1);
    }
    if (how === "declined") {
      for (const card of shop.stripe.cards.keys()) shop.stripe.cards.set(card, "declined");
      await setQuota(account, 1);
      await runs(shop, 1);
      for (const card of shop.stripe.cards.keys()) shop.stripe.cards.set(card, "good");
    }
    const before = charges(shop);
    await restore(backup);
    await setQuota(account, 1);
    await runs(shop, 1);
    expect([charges(shop), (await state(account))?.taken]).toEqual([before, how === "paid" ? 2000 : 3000]);
    await runs(shop, 5);
    const { taken, pausedFor } = (await state(account))!;
    expect([charges(shop), taken, pausedFor]).toEqual(how === "paid" ? [before + 1, 3000, null] : [before, 2000, "declined"]);
    await setQuota(account, 1);
    await runs(shop, 2);
    expect(charges(shop), "the ceiling, or the pause").toBe(how === "paid" ? before + 1 : before);
  },
);

test.each([
  [{ threshold: 5, amount: 1, ceiling: 30 }, "range", "amount"],
  [{ threshold: 11, amount: 10, ceiling: 30 }, "range", "threshold"],
  [{ threshold: 0, amount: 10, ceiling: 30 }, "range", "threshold"],
  [{ threshold: 5, amount: 2001, ceiling: 3000 }, "range", "amount"],
  [{ threshold: 5, amount: 10, ceiling: 9 }, "range", "ceiling"],
  [{ threshold: 5, amount: 10, ceiling: 200_001 }, "range", "ceiling"],
  [{ threshold: 5, amount: 10.001, ceiling: 30 }, "step", "amount"],
  [{ threshold: 5, amount: 10, ceiling: 30.001 }, "step", "ceiling"],
])("settings that would loop or cannot be paid are refused: %j", async (settings, refused, field) => {
  const shop = new Shop();
  expect(await shop.topUp(await newAccount(1), settings)).toMatchObject({ refused, field });
});

test("a card that someone else's customer stored is not used, and an older event does not replace a newer card", async () => {
  const { shop, account } = await shopWith(1);
  await shop.topUp(account);
  const before = (await state(account))?.methodId;
  const forged = { id: "seti_x", customer: "cus_other", payment_method: "pm_other", metadata: { gateway_account: account.id } };
  const event = (created: number, object: object) => ({
    id: `evt_${created}`,
    livemode: false,
    type: "setup_intent.succeeded",
    data: { object: { created, ...object } as never },
  });
  const now = Math.floor(Date.now() / 1000);
  expect((await shop.send(event(now + 60, forged))).status).toBe(200);
  const customer = [...shop.stripe.customers.keys()][0];
  expect((await shop.send(event(now - 60, { ...forged, customer }))).status).toBe(200);
  expect((await state(account))?.methodId).toBe(before);
});

/** Payments by Stripe: what Stripe took is credited exactly once, whatever is sent twice, out of order, late, forged, or lost. */

import "../support/alone.ts";
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, expect, test, vi } from "vitest";
import { listCredits } from "../../src/db/credits.ts";
import { listPaid } from "../../src/db/payments.ts";
import Payments from "../../src/payments/worker.ts";
import worker from "../../src/worker.ts";
import { bindings, failOnce } from "../support/faults.ts";
import { type Account, asAdmin, call, holdTime, newAccount } from "../support/gateway.ts";
import type { StripeEvent, StripeObject } from "../support/stripe.ts";
import { Shop, shopWith } from "./support.ts";

beforeEach(holdTime);

const day = 86_400_000;
const quota = async ({ id }: Account): Promise<number> => (await asAdmin(`/accounts/${id}`)).body.quota;
const shortfall = async ({ id }: Account): Promise<number> => (await asAdmin(`/accounts/${id}`)).body.shortfall;
const credits = async ({ id }: Account) =>
  (await listCredits(env.DB, id, 50)).map(({ id: cause, amount }) => [cause, amount / 1e6] as const);
const handled = async () => (await env.DB.prepare("SELECT count(*) AS n FROM payment_event").first<number>("n"))!;

test("a payment: the page of Stripe, then the event, then the balance, the history and the audit log", async () => {
  const { shop, account } = await shopWith(1);
  const ordered = await shop.order(account, 50);
  expect(ordered).toMatchObject({
    status: 201,
    body: { object: "payment", amount: 50, url: expect.stringContaining("checkout.stripe.com") },
  });
  const [session] = [...shop.stripe.sessions.values()] as [StripeObject];
  expect(session).toMatchObject({
    mode: "payment",
    amount_total: 5000,
    currency: "usd",
    success_url: "https://gateway.example/console/billing?payment=paid",
  });
  expect(await quota(account)).toBe(1);
  const intent = shop.stripe.pay(session.id);
  await shop.deliver();
  expect(await quota(account)).toBe(51);
  expect(await credits(account)).toEqual([[`payment:${intent.id}`, 50]]);
  expect(await listPaid(env.DB, account.id, { limit: 10 })).toMatchObject([
    { id: ordered.body.id, state: "paid", money: 5000, currency: "usd", amount: 50_000_000, card: "Visa 4242", refunded: 0, disputed: 0 },
  ]);
  const log = await call("/v1/audit_log?act=payment_succeeded", { key: account.key });
  expect(log.body.data).toMatchObject([
    { actor: { kind: "system", id: "stripe" }, target: { id: `payment:${intent.id}` }, after: { amount: 50 } },
  ]);
  const begun = await call("/v1/audit_log?act=payment_begun", { key: account.key });
  expect(begun.body.data).toMatchObject([
    {
      actor: { kind: "key", id: account.keyId },
      target: { id: ordered.body.id },
      before: null,
      after: { amount: 50, money: 50, currency: "usd" },
    },
  ]);

  await shop.pay(account, 5);
  expect(
    shop.stripe.calls.filter((one) => one === "POST /v1/customers"),
    "one customer for an account",
  ).toHaveLength(1);
  expect(await shop.worker.receipt(account.id, ordered.body.id)).toMatch(/^https:\/\/pay\.stripe\.com\/receipts\//);
  const other = await newAccount(1);
  expect(await shop.worker.receipt(other.id, ordered.body.id)).toBeUndefined();
  expect(await shop.worker.portal(account.id, "https://gateway.example/")).toMatch(/^https:\/\/billing\.stripe\.com\//);
  expect(await shop.worker.portal(other.id, "https://gateway.example/")).toBeUndefined();
});

test("an event takes effect once: repeated, in parallel, and after days", async () => {
  const { shop, account } = await shopWith(1);
  await shop.pay(account, 10);
  const [event] = shop.stripe.events as [StripeEvent];
  const sent = await Promise.all([1, 2, 3].map(() => shop.send(event)));
  expect(sent.map(({ status }) => status)).toEqual([200, 200, 200]);
  vi.setSystemTime(Date.now() + 3 * day);
  expect(await shop.send(event)).toMatchObject({ status: 200, body: { received: true } });
  expect(await quota(account)).toBe(11);
  // The same payment in another event.
  expect((await shop.send({ ...event, id: "evt_other" })).status).toBe(200);
  expect(await quota(account)).toBe(11);
});

test("forged, old and missing signatures are 400 and change nothing; a rotated secret is accepted for as long as it is set", async () => {
  const { shop, account } = await shopWith(1);
  await shop.pay(account, 10);
  const [event] = shop.stripe.events as [StripeEvent];
  const { body, signature } = await shop.stripe.sign(event);
  const before = await handled();
  const forged = await shop.stripe.sign(event, Date.now(), "whsec_guessed");
  const changed = body.replace('"amount_received":1000', '"amount_received":900000');
  expect(changed).not.toBe(body);
  const old = await shop.stripe.sign(event, Date.now() - 301_000);
  for (const answer of [
    await shop.post(body, forged.signature),
    await shop.post(changed, signature),
    await shop.post(old.body, old.signature),
    await shop.post(body, "t=1,v1=00"),
    await shop.post(body, "nonsense"),
    await shop.post(body, undefined),
  ])
    expect(answer).toMatchObject({ status: 400, body: { error: { code: "invalid_request", param: "stripe-signature" } } });
  expect([await quota(account), await handled()]).toEqual([1, before]);

  const live = new Shop({
    STRIPE_SECRET_KEY: "rk_live_key",
    STRIPE_WEBHOOK_SECRET: "whsec_new",
    STRIPE_WEBHOOK_SECRET_OLD: "whsec_test_secret",
  });
  expect((await live.post(body, signature)).status).toBe(400); // paid in the test mode
  expect(await quota(account)).toBe(1);

  const renewed = new Shop({ STRIPE_WEBHOOK_SECRET: "whsec_new", STRIPE_WEBHOOK_SECRET_OLD: "whsec_test_secret" });
  expect((await renewed.post(body, signature)).status).toBe(200);
  expect(await quota(account)).toBe(11);
  const withNew = await shop.stripe.sign({ ...event, id: "evt_by_new" }, Date.now(), "whsec_new");
  expect((await renewed.post(withNew.body, withNew.signature)).status).toBe(200);
});

test("a body at the webhook is not read without a key at Stripe, nor with a signature of another form or an old one", async () => {
  const now = Math.floor(Date.now() / 1000);
  const sign = (at: number) => `t=${at},v1=${"a".repeat(64)}`;
  const send = async (shop: Shop, signature: string) => {
    const body = new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(new TextEncoder().encode("{")) });
    const headers = { "stripe-signature": signature, "content-length": "1000000" };
    const request = new Request("https://gateway.example/payments/stripe", { method: "POST", headers, body });
    return (await worker.fetch(request, { ...env, ...shop.vars }, createExecutionContext())).status;
  };
  expect(await send(new Shop({ STRIPE_SECRET_KEY: "" }), sign(now))).toBe(404);
  for (const signature of [sign(now - 301), "nonsense", `v1=${"a".repeat(64)}`, `t=${now},v1=00`])
    expect(await send(new Shop(), signature)).toBe(400);
  // No event is so large, and everyone can write such a signature.
  expect(await send(new Shop(), sign(now))).toBe(413);
});

test("without the Worker or without a key the paths do not exist", async () => {
  const account = await newAccount(1);
  const off = new Shop({ STRIPE_SECRET_KEY: "" });
  // Also for a body that would be refused.
  for (const amount of [10, 0, undefined]) expect((await off.order(account, amount)).status).toBe(404);
  expect((await off.post("{}", "t=1,v1=00")).status).toBe(404);
  const shop = new Shop();
  const asked = vi.spyOn(Payments.prototype, "checkout").mockClear();
  for (const amount of [10, -1, undefined]) expect((await shop.order(account, amount)).status).toBe(amount === 10 ? 201 : 400);
  expect(asked, "one call for each").toHaveBeenCalledTimes(3);
  expect((await call("/v1/payments", { key: account.key, body: "{", vars: shop.vars })).status).toBe(400);
  const vars = { PAYMENTS: undefined } as never;
  expect((await call("/v1/payments", { key: account.key, body: { amount: 10 }, vars })).status).toBe(404);
  expect((await call("/payments/stripe", { body: "{}", headers: { "stripe-signature": "t=1" }, vars })).status).toBe(404);
});

test.each([
  [undefined, "required"],
  ["10", ""],
  [0, "from 5 to 2000"],
  [-10, "from 5 to 2000"],
  [1e300, "from 5 to 2000"],
  [4.99, "from 5 to 2000"],
  [2000.01, "from 5 to 2000"],
  [10.005, "multiple of 0.01"],
])("an amount of %s is refused, and Stripe is not asked", async (amount, rule) => {
  const shop = new Shop();
  const answer = await shop.order(await newAccount(1), amount);
  expect(answer).toMatchObject({ status: 400, body: { error: { param: "amount", message: expect.stringContaining(rule) } } });
  expect(shop.stripe.calls).toEqual([]);
});

test("an account without a limit pays nothing: no payment, no automatic top-up, no code", async () => {
  const { shop, account } = await shopWith(null);
  expect(await shop.order(account, 10)).toMatchObject({
    status: 400,
    body: { error: { param: "amount", message: expect.stringContaining("unlimited") } },
  });
  expect(await shop.topUp(account)).toEqual({ refused: "unlimited" });
  expect(shop.stripe.calls).toEqual([]);
  await asAdmin(`/accounts/${account.id}`, { method: "PATCH", body: { quota: 1 } });
  expect((await shop.order(account, 10)).status).toBe(201);
});

test.each([
  ["CNY", 50, "cny", 5000],
  ["TOKENS", 10_000_000, "usd", 1000],
])("in %s: %d is %s %d in the smallest unit", async (unit, amount, currency, money) => {
  const shop = new Shop({ BALANCE_UNIT: unit, TOKENS_PER_USD: "1000000" });
  const account = await newAccount(1);
  await shop.pay(account, amount);
  expect([...shop.stripe.sessions.values()]).toMatchObject([{ currency, amount_total: money }]);
  const [intent] = [...shop.stripe.intents.values()] as [StripeObject];
  shop.stripe.refund(intent.id, 1);
  await shop.deliver();
  expect(await quota(account)).toBe(1 + amount - amount / money);
});

test.each(["10000000", "999999999"])(
  "with %s tokens for a dollar no payment is taken that is too much for an exact sum",
  async (TOKENS_PER_USD) => {
    const shop = new Shop({ BALANCE_UNIT: "TOKENS", TOKENS_PER_USD });
    const account = await newAccount(1);
    const options = await shop.worker.options(account.id);
    for (const amount of [options!.max, ...options!.offered]) {
      const before = await quota(account);
      await shop.pay(account, amount / 1e6);
      await shop.deliver();
      expect(await quota(account)).toBe(before + amount / 1e6);
      await asAdmin(`/accounts/${account.id}`, { method: "PATCH", body: { quota: 1 } });
    }
    expect((await shop.order(account, 2_000 * Number(TOKENS_PER_USD))).body.error).toMatchObject({
      code: "invalid_request",
      param: "amount",
    });
  },
);

test("payments of something else on the same account of Stripe, and of unknown accounts, credit nobody", async () => {
  const shop = new Shop();
  const foreign = shop.stripe.payElsewhere();
  const unknown = { gateway_account: "acc_elsewhere", gateway_payment: "pay_1", gateway_money: "500", gateway_amount: "5000000" };
  shop.stripe.payElsewhere(unknown);
  shop.stripe.refund(foreign.id, 500);
  shop.stripe.dispute(foreign.id);
  await shop.deliver();
  expect(await env.DB.prepare("SELECT count(*) AS n FROM credit WHERE account_id = 'acc_elsewhere'").first("n")).toBe(0);
});

test("an account opens at most thirty pages of Stripe in an hour", async () => {
  const { shop, account } = await shopWith(1);
  const statuses = [];
  for (let count = 0; count < 31; count++) statuses.push((await shop.order(account, 10)).status);
  expect(statuses).toEqual([...Array.from({ length: 30 }, () => 201), 429]);
  const { headers, body } = await shop.order(account, 10);
  expect([body.error.code, headers.get("retry-after")]).toEqual(["rate_limit_exceeded", "3600"]);
  expect(shop.stripe.sessions.size).toBe(30);
  expect((await shop.order(await newAccount(1), 10)).status).toBe(201);
  vi.setSystemTime(Date.now() + 3_600_000);
  expect((await shop.order(account, 10)).status).toBe(201);
});

test("a session that nobody paid expires; the event after a payment changes nothing", async () => {
  const { shop, account } = await shopWith(1);
  const { body } = await shop.order(account, 10);
  const [id] = [...shop.stripe.sessions.keys()] as [string];
  shop.stripe.expire(id);
  await shop.deliver();
  const state = () => env.DB.prepare("SELECT state FROM payment WHERE id = ?1").bind(body.id).first("state");
  expect(await state()).toBe("expired");
  shop.stripe.pay(id);
  await shop.deliver();
  expect([await state(), await quota(account)]).toEqual(["paid", 11]);
  shop.stripe.expire(id);
  await shop.deliver();
  expect(await state()).toBe("paid");
});

test.each([
  ["the database before a write", () => failOnce(bindings.database(), "batch")],
  ["the database after a write", () => failOnce(bindings.database(), "batch", true)],
  ["a read", () => failOnce(bindings.statement(), "first")],
])("a fault of %s: 503, and Stripe's repeat credits exactly once", async (_, fail) => {
  const { shop, account } = await shopWith(1);
  await shop.pay(account, 10);
  const [event] = shop.stripe.events as [StripeEvent];
  fail();
  expect((await shop.send(event)).status).toBe(503);
  expect((await shop.send(event)).status).toBe(200);
  expect(await quota(account)).toBe(11);
});

test("an answer of Stripe that is lost opens no second session or customer", async () => {
  const { shop, account } = await shopWith(1);
  shop.stripe.faults.push("lost");
  expect((await shop.order(account, 10)).status).toBe(201);
  shop.stripe.faults.push(500);
  expect((await shop.order(account, 10)).status).toBe(201);
  shop.stripe.faults.push("lost");
  expect((await shop.order(account, 10)).status).toBe(201);
  expect([shop.stripe.customers.size, shop.stripe.sessions.size]).toEqual([1, 3]);
});

test("refunds are debits, each once, and one that failed or was canceled comes back", async () => {
  const { shop, account } = await shopWith(1);
  const intent = await shop.pay(account, 20);
  await shop.deliver();
  const part = shop.stripe.refund(intent.id, 500);
  shop.stripe.setRefund(part.id, "succeeded");
  const failed = shop.stripe.refund(intent.id, 700);
  await shop.deliver();
  expect(await quota(account)).toBe(9);
  shop.stripe.setRefund(failed.id, "failed");
  await shop.deliver();
  expect(await quota(account)).toBe(16);
  const canceled = shop.stripe.refund(intent.id, 300);
  await shop.deliver();
  expect(await quota(account)).toBe(13);
  shop.stripe.setRefund(canceled.id, "canceled");
  await shop.deliver();
  expect(await quota(account)).toBe(16);
  expect(await listPaid(env.DB, account.id, { limit: 10 })).toMatchObject([{ refunded: 500, disputed: 0 }]);
  expect(Object.fromEntries(await credits(account))).toEqual({
    [`payment:${intent.id}`]: 20,
    [`refund:${part.id}`]: -5,
    [`refund:${failed.id}`]: -7,
    [`returned:${failed.id}`]: 7,
    [`refund:${canceled.id}`]: -3,
    [`returned:${canceled.id}`]: 3,
  });
});

test("a payment of which a part arrived adds that part, and no more than it added is taken back", async () => {
  const { shop, account } = await shopWith(1);
  const intent = await shop.pay(account, 20);
  for (const { type, data } of shop.stripe.events) if (type === "payment_intent.succeeded") data.object["amount_received"] = 1500;
  await shop.deliver();
  expect(await quota(account)).toBe(16);
  shop.stripe.refund(intent.id, 300);
  await shop.deliver();
  expect(await quota(account)).toBe(13);
  // The bank disputes the whole amount. 13 less 15: a debt of 2.
  shop.stripe.dispute(intent.id);
  await shop.deliver();
  expect([await quota(account), await shortfall(account)]).toEqual([0, 2]);
});

test("payments that the operator has ended: nothing new is paid, and what was paid is credited, refunded and disputed", async () => {
  const vars: Partial<PaymentsBindings> = {};
  const shop = new Shop(vars);
  const [account, other] = [await newAccount(1), await newAccount(4)];
  const paid = await shop.pay(account, 20);
  const { body: begun } = await shop.order(account, 10);
  await shop.topUp(other);
  await shop.deliver();
  vars.STRIPE_PAYMENTS = "off";
  expect((await shop.order(account, 10)).status).toBe(404);
  expect(await shop.topUp(other)).toEqual({ refused: "off" });
  await shop.run();
  shop.stripe.pay((begun.url as string).split("/").at(-1)!); // its page was open
  shop.stripe.refund(paid.id, 500);
  await shop.deliver();
  expect([await quota(account), await quota(other)]).toEqual([26, 4]);
  expect(await shop.change({ accountId: other.id, settings: null, wantsCard: false, returnUrl: "https://gateway.example" })).toEqual({});
  vars.STRIPE_PAYMENTS = "yes";
  expect((await shop.order(account, 10)).status).toBe(503);
  vars.STRIPE_PAYMENTS = "on";
  expect((await shop.order(account, 10)).status).toBe(201);
});

test("a dispute takes the quota below use, then nothing is accepted until it is won", async () => {
  const { shop, account } = await shopWith(0);
  const intent = await shop.pay(account, 10);
  await shop.deliver();
  const ask = () => call("/v1/images/generations", { key: account.key, body: { model: "imgA-4", prompt: "a lighthouse" } });
  expect((await ask()).status).toBe(200);
  const dispute = shop.stripe.dispute(intent.id);
  await shop.deliver();
  expect(await shortfall(account)).toBeGreaterThan(0);
  expect((await ask()).status).toBe(402);
  expect(await listPaid(env.DB, account.id, { limit: 10 })).toMatchObject([{ disputed: 1000 }]);
  shop.stripe.setDispute(dispute.id, "won");
  await shop.deliver();
  expect([await quota(account), await shortfall(account)]).toEqual([10, 0]);
  expect((await ask()).status).toBe(200);
  expect(await listPaid(env.DB, account.id, { limit: 10 })).toMatchObject([{ disputed: 0 }]);
});

test("an inquiry and a dispute that a refund prevented take nothing, a lost dispute stays taken", async () => {
  const { shop, account } = await shopWith(1);
  const [asked, lost] = [await shop.pay(account, 10), await shop.pay(account, 20)];
  const inquiry = shop.stripe.dispute(asked.id, "warning_needs_response");
  shop.stripe.dispute(asked.id, "prevented");
  const dispute = shop.stripe.dispute(lost.id);
  await shop.deliver();
  expect(await quota(account)).toBe(11);
  shop.stripe.setDispute(inquiry.id, "warning_closed");
  shop.stripe.setDispute(dispute.id, "lost");
  await shop.deliver();
  expect(await quota(account)).toBe(11);
});

/** Every order of a few events. */
const orders = <T>(list: T[]): T[][] =>
  list.length < 2 ? [list] : list.flatMap((one, at) => orders([...list.slice(0, at), ...list.slice(at + 1)]).map((rest) => [one, ...rest]));

test.each([
  ["a refund that failed", 20, "refund.created", "refund.failed"],
  ["a dispute that was won", 20, "charge.dispute.created", "charge.dispute.closed"],
  ["a refund and a dispute", -3, "refund.created", "charge.dispute.created"],
])("whatever the order of the events of %s, the sum is right", async (_, sum, ...kinds) => {
  const shop = new Shop();
  for (const order of orders(["payment_intent.succeeded", ...kinds])) {
    const account = await newAccount(10);
    const intent = await shop.pay(account, 20);
    const refund = shop.stripe.refund(intent.id, 300);
    if (kinds.includes("refund.failed")) shop.stripe.setRefund(refund.id, "failed");
    const dispute = shop.stripe.dispute(intent.id);
    if (kinds.includes("charge.dispute.closed")) shop.stripe.setDispute(dispute.id, "won");
    const events = shop.stripe.events.splice(0);
    for (const kind of order)
      for (const event of events.filter(({ type }) => type === kind)) expect((await shop.send(event)).status).toBe(200);
    expect(await quota(account), order.join(", ")).toBe(10 + sum);
  }
});

test("a lost event is found by the daily look, with an alert, and settled once; an event that comes after it changes nothing", async () => {
  const { shop, account } = await shopWith(1);
  for (const _ of [1, 2]) await shop.run();
  const intent = await shop.pay(account, 20);
  shop.stripe.payElsewhere();
  const events = shop.stripe.events.splice(0);
  await shop.run();
  expect(await quota(account), "once a day").toBe(1);
  const alerts = vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.setSystemTime(Date.now() + day);
  for (const _ of [1, 2]) await shop.run();
  expect(await quota(account)).toBe(21);
  expect(alerts.mock.calls.flat().join()).toContain(`"outcome":"event_missing","cause":"${intent.id}"`);
  for (const event of events) expect((await shop.send(event)).status).toBe(200);
  shop.stripe.refund(intent.id, 200);
  shop.stripe.dispute(intent.id);
  shop.stripe.events.splice(0);
  vi.setSystemTime(Date.now() + day);
  for (const _ of [1, 2]) await shop.run();
  // 1 and 20, less 2 of the refund and 20 of the dispute: a debt of 1.
  expect([await quota(account), await shortfall(account)]).toEqual([0, 1]);
});

test("the daily look reads every page, goes on after a fault, and one payment that cannot be settled does not stop the others", async () => {
  const shop = new Shop();
  const [first, second] = [await newAccount(1), await newAccount(1)];
  await shop.pay(first, 20);
  for (let count = 0; count < 250; count++) shop.stripe.payElsewhere();
  await shop.pay(second, 30);
  shop.stripe.events.splice(0);
  vi.setSystemTime(Date.now() + day);
  shop.stripe.faults.push(500, 500);
  await expect(shop.run()).rejects.toThrow("scripted fault");
  failOnce(bindings.database(), "batch");
  for (const _ of [1, 2, 3, 4]) await shop.run();
  expect([await quota(first), await quota(second)]).toEqual([21, 1]);
  vi.setSystemTime(Date.now() + day);
  for (const _ of [1, 2, 3, 4]) await shop.run();
  expect([await quota(first), await quota(second)]).toEqual([21, 31]);
});

test.each(["deleted", "of test mode"])("a customer that Stripe does not know, because it was %s, is made again", async (why) => {
  const { shop, account } = await shopWith(1);
  await shop.pay(account, 20);
  await shop.deliver();
  const before = [...shop.stripe.customers.keys()];
  shop.stripe.customers.clear();
  if (why === "of test mode") vi.setSystemTime(Date.now() + 2 * day);
  await shop.pay(account, 10);
  await shop.deliver();
  expect(await quota(account)).toBe(31);
  const [customer = "", ...others] = shop.stripe.customers.keys();
  expect([others, before.includes(customer)]).toEqual([[], false]);
  expect(await shop.worker.portal(account.id, "https://gateway.example/console/billing")).toContain(customer);
  shop.stripe.customers.clear();
  expect(await shop.topUp(account)).toMatchObject({ url: expect.any(String) });
  shop.stripe.customers.clear();
  expect(await shop.worker.portal(account.id, "https://gateway.example/console/billing")).toEqual(expect.any(String));
});

test("an erased account loses its customer at Stripe; a payment that arrives later is still noted", async () => {
  const { shop, account } = await shopWith(1);
  await shop.pay(account, 20);
  expect(shop.stripe.customers.size).toBe(1);
  expect((await asAdmin(`/accounts/${account.id}`, { method: "DELETE" })).status).toBeLessThan(300);
  await shop.run();
  expect(shop.stripe.customers.size).toBe(0);
  expect(await env.DB.prepare("SELECT count(*) AS n FROM payer WHERE account_id = ?1").bind(account.id).first("n")).toBe(0);
  await shop.deliver();
  expect(await credits(account)).toHaveLength(1);
  const [{ card } = { card: "none" }] = await listPaid(env.DB, account.id, { limit: 1 });
  expect(card).toBeNull();
});

test("an account that is erased while its customer is made leaves none at Stripe", async () => {
  const { shop, account } = await shopWith(1);
  const answerTo = shop.stripe.fetch.bind(shop.stripe);
  vi.spyOn(shop.stripe, "fetch").mockImplementation(async (request) => {
    const answer = await answerTo(request);
    if (request.url.endsWith("/v1/customers")) await asAdmin(`/accounts/${account.id}`, { method: "DELETE" });
    return answer;
  });
  expect((await shop.order(account, 10)).status).toBeGreaterThanOrEqual(400);
  expect([shop.stripe.customers.size, shop.stripe.sessions.size]).toEqual([1, 0]);
  await shop.run();
  await shop.run();
  expect(shop.stripe.customers.size).toBe(0);
});

test("a payment that got no session ends after a day, one whose event is lost after three weeks; both can still be paid", async () => {
  const { shop, account } = await shopWith(1);
  const lost = (await shop.order(account, 10)).body.id as string;
  const [session = ""] = shop.stripe.sessions.keys();
  shop.stripe.faults.push(500, 500);
  expect((await shop.order(account, 10)).status).toBeGreaterThanOrEqual(500);
  const states = async () =>
    (
      await env.DB.prepare("SELECT id = ?2 AS lost, state FROM payment WHERE account_id = ?1 ORDER BY 1").bind(account.id, lost).run()
    ).results.map(({ state }) => state);
  const look = async (later: number) => {
    vi.setSystemTime(Date.now() + later);
    for (const _ of [1, 2, 3, 4]) await shop.run();
  };
  await look(0);
  expect(await states()).toEqual(["open", "open"]);
  await look(day + 1);
  expect(await states()).toEqual(["expired", "open"]);
  await look(20 * day);
  expect(await states()).toEqual(["expired", "expired"]);
  shop.stripe.pay(session);
  await shop.deliver();
  expect([await states(), await quota(account)]).toEqual([["expired", "paid"], 11]);
});

test("with invoices a session asks for the address and the tax number that an invoice needs", async () => {
  const account = await newAccount(1);
  for (const STRIPE_INVOICES of ["off", "on"]) {
    const shop = new Shop({ STRIPE_INVOICES });
    expect((await shop.order(account, 10)).status).toBe(201);
    const isOn = STRIPE_INVOICES === "on";
    expect([...shop.stripe.sessions.values()]).toMatchObject([
      { billing_address_collection: isOn ? "required" : null, tax_id_collection: { enabled: isOn } },
    ]);
    vi.restoreAllMocks();
    await env.DB.prepare("DELETE FROM payer WHERE account_id = ?1").bind(account.id).run();
  }
});

/** Paying on the console's Billing page, with Stripe in memory behind the gateway. */

import { env } from "cloudflare:workers";
import { beforeEach, expect, test } from "vitest";
import { mailTopUp } from "../../../src/console/letters.ts";
import { asAdmin, holdTime } from "../../support/gateway.ts";
import { Shop } from "../../payments/support.ts";
import { Browser, person, signedUp } from "../support.ts";

beforeEach(holdTime);

const page = "/console/billing";

const customer = (shop: Shop) => person(new Browser({}, shop.vars));
const inSession = (location: string | null) => location!.split("/").at(-1)!;

test("two clicks: an offered amount, paid at Stripe, then the balance, the payment and its receipt", async () => {
  const shop = new Shop();
  const { browser, id } = await customer(shop);
  const before = await browser.read(page);
  expect(before).toContain("Top up");
  expect(before).toContain("Nothing was paid yet.");
  expect(before).not.toContain("Cards and invoices");
  const sent = await browser.ask(`${page}/pay`, { chosen: "25000000", other: "" });
  expect([sent.status, sent.headers.get("location")]).toEqual([303, expect.stringContaining("https://checkout.stripe.com/")]);
  expect(sent.headers.get("content-security-policy")).toContain(
    "form-action 'self' https://checkout.stripe.com https://billing.stripe.com",
  );
  shop.stripe.pay(inSession(sent.headers.get("location")));
  await shop.deliver();
  expect((await asAdmin(`/accounts/${id}`)).body.quota).toBe(30);
  const text = await browser.read(`${page}?payment=paid`);
  for (const part of ["Thank you.", "$25.00", "Receipt", "Cards and invoices at Stripe"]) expect(text).toContain(part);
  const [, link = ""] = /href="(\/console\/billing\/receipts\/[^"]+)"/.exec(text) ?? [];
  const receipt = await browser.ask(link);
  expect([receipt.status, receipt.headers.get("location")]).toEqual([303, expect.stringContaining("https://pay.stripe.com/receipts/")]);
  const portal = await browser.ask(`${page}/portal`, {});
  expect([portal.status, portal.headers.get("location")]).toEqual([303, expect.stringContaining("https://billing.stripe.com/")]);
  expect((await browser.ask("/console")).headers.get("content-security-policy")).not.toContain("stripe");

  const stranger = await customer(shop);
  expect((await stranger.browser.ask(link)).status).toBe(404);
});

test.each([
  ["", "abc", "Enter an amount"],
  ["", "", "Enter an amount"],
  ["25000000", "3", "from $5.00 to $2,000.00"],
  ["25000000", "10.005", "multiple of $0.01"],
])("an amount that cannot be paid is refused beside its field: %s %s", async (chosen, other, problem) => {
  const shop = new Shop();
  const { browser } = await customer(shop);
  const answer = await browser.ask(`${page}/pay`, { chosen, other });
  expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining(problem)]);
  expect(shop.stripe.calls).toEqual([]);
});

test("an unlimited account has no forms to pay or to redeem a code, and refuses both", async () => {
  const shop = new Shop();
  const { browser, id } = await customer(shop);
  const { body } = await asAdmin("/codes", { body: { count: 1, amount: 5 } });
  const { code } = body.codes[0];
  await asAdmin(`/accounts/${id}`, { method: "PATCH", body: { quota: null } });
  const shown = await browser.read(page);
  for (const form of ["pay", "top-up", "redeem"]) expect(shown, form).not.toContain(`action="${page}/${form}"`);
  const settings = { threshold: "5", amount: "10", ceiling: "30", do: "save" };
  for (const [form, fields] of Object.entries({ pay: { chosen: "10000000" }, "top-up": settings, redeem: { code } })) {
    const answer = await browser.ask(`${page}/${form}`, fields);
    expect([answer.status, await answer.text()], form).toEqual([400, expect.stringContaining("unlimited: there is nothing to add")]);
  }
  expect(shop.stripe.calls).toEqual([]);
  await asAdmin(`/accounts/${id}`, { method: "PATCH", body: { quota: 5 } });
  expect((await browser.ask(`${page}/redeem`, { code })).status).toBe(303);
  expect((await asAdmin(`/accounts/${id}`)).body.quota).toBe(10);
});

test("payments have pages and a CSV file, and the button names each offered amount", async () => {
  const shop = new Shop();
  const { browser, id } = await customer(shop);
  expect(await browser.read(page)).not.toContain("payments.csv");
  const row =
    "INSERT INTO payment (id, account_id, created_at, money, currency, amount, state, card) VALUES (?1, ?2, ?3, ?4, 'usd', ?5, 'paid', 'Visa 4242')";
  await env.DB.batch(
    Array.from({ length: 51 }, (_, at) => env.DB.prepare(row).bind(`pay_${id.slice(4)}${at}`, id, at, 1000 + at, 1e4 * (1000 + at))),
  );
  const first = await browser.read(page);
  for (const part of ["$10.50", "$10.01", "Pay $10.00", "Pay $100.00"]) expect(first).toContain(part);
  expect(first).not.toContain(`/receipts/pay_${id.slice(4)}0"`);
  const older = /href="(\/console\/billing\?after=[^"]+)"/.exec(first)?.[1] ?? "none";
  const second = await browser.read(older);
  expect(second).toContain(`/receipts/pay_${id.slice(4)}0"`);
  expect(second).not.toContain("$10.01");
  const file = await browser.ask(`${page}/payments.csv`);
  expect(file.headers.get("content-type")).toContain("text/csv");
  const lines = (await file.text()).trim().split("\r\n");
  expect(lines).toHaveLength(52);
  expect(lines[0]).toBe("date,id,what,card,paid,currency,added,refunded,disputed,intent");
  expect(lines[51]).toBe(`1970-01-01T00:00:00.000Z,pay_${id.slice(4)}0,top_up,Visa 4242,10.00,usd,10,0.00,0.00,`);
  expect(first).toContain("Visa 4242");
  await env.DB.prepare("UPDATE membership SET role = 'member' WHERE account_id = ?1").bind(id).run();
  for (const path of [page, `${page}/payments.csv`]) expect(await browser.read(path), "a card is for those who pay").not.toContain("Visa");
});

test("credits and debits have pages and a CSV file", async () => {
  const { browser, id } = await customer(new Shop());
  expect(await browser.read(page)).not.toContain("credits.csv");
  const row = "INSERT INTO quota_change (account_id, at, before, after, reason) VALUES (?1, ?2, ?3, ?4, 'only for admins')";
  const change = (before: number, after: number) => env.DB.prepare(row).bind(id, Date.now(), 1e6 * before, 1e6 * after);
  await env.DB.batch([...Array.from({ length: 51 }, (_, at) => change(1_000 + at, 1_001 + at)), change(1_051, 1_048.5)]);
  const first = await browser.read(page);
  expect(first).toContain("$1,051.00");
  expect(first).not.toContain("$1,002.00");
  const older = /href="(\/console\/billing\?moved=\d+)"/.exec(first)?.[1] ?? "none";
  const second = await browser.read(older);
  expect(second).toContain("$1,002.00");
  expect(second).not.toContain("$1,051.00");
  const file = await browser.ask(`${page}/credits.csv`);
  expect(file.headers.get("content-disposition")).toContain("credits-");
  const text = await file.text();
  const lines = text.trim().split("\r\n");
  expect(lines).toHaveLength(53);
  expect(lines[0]).toBe("date,what,reason,added,quota");
  expect(lines[1]).toMatch(/^20[^,]+Z,operator,,-2\.5,1048\.5$/);
  expect(lines[2]).toMatch(/^20[^,]+Z,operator,,1,1051$/);
  for (const shown of [first, second, text]) expect(shown).not.toContain("only for admins");
});

test("a refund and a dispute are named in the list", async () => {
  const shop = new Shop();
  const { browser } = await customer(shop);
  const pay = async () => {
    const { headers } = await browser.ask(`${page}/pay`, { chosen: "10000000", other: "" });
    return shop.stripe.pay(inSession(headers.get("location")));
  };
  const [first, second, third] = [await pay(), await pay(), await pay()];
  shop.stripe.refund(first.id, 1000);
  shop.stripe.refund(second.id, 250);
  shop.stripe.dispute(third.id);
  await shop.deliver();
  const text = await browser.read(page);
  for (const part of ["Refunded", "$2.50 refunded", "Disputed"]) expect(text).toContain(part);
});

test("automatic top-up: on with a card that is stored at Stripe, changed, and off again", async () => {
  const shop = new Shop();
  const { browser, id } = await customer(shop);
  expect(await browser.read(page)).toContain("never more than you allow in a month");
  const settings = { threshold: "5", amount: "10", ceiling: "30", do: "save" };
  const sent = await browser.ask(`${page}/top-up`, settings);
  expect([sent.status, sent.headers.get("location")]).toEqual([303, expect.stringContaining("https://checkout.stripe.com/")]);
  expect(await browser.read(page)).toContain("It starts when a card is stored at Stripe.");
  shop.stripe.storeCard(inSession(sent.headers.get("location")), "declined");
  await shop.deliver();
  const on = await browser.read(`${page}?payment=stored`);
  for (const part of ["The card is stored.", "$0.00 of $30.00", "at most $30.00 a month", 'aria-checked="true"'])
    expect(on).toContain(part);
  expect(on).toContain(`hx-get="${page}/card"`);
  expect(await browser.read(`${page}/card`)).toBe("Visa ending in 4242, stored at Stripe.");
  shop.stripe.faults.push(500, 500);
  expect((await browser.ask(`${page}/card`)).status).toBe(204);
  expect((await (await customer(shop)).browser.ask(`${page}/card`)).status).toBe(204);
  const refused = await browser.ask(`${page}/top-up`, { ...settings, threshold: "11" });
  expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining("from $0.01 to $10.00")]);
  expect((await browser.ask(`${page}/top-up`, { ...settings, ceiling: "much" })).status).toBe(400);

  await asAdmin(`/accounts/${id}`, { method: "PATCH", body: { quota: 1 } });
  await shop.run();
  expect(await browser.read(page)).toContain("Paused: a payment was declined.");
  expect((await browser.ask(`${page}/top-up`, settings)).headers.get("location")).toBe(page);
  expect(await browser.read(page)).not.toContain("Paused:");
  expect((await browser.ask(`${page}/top-up`, { ...settings, do: "card" })).headers.get("location")).toContain("checkout.stripe.com");
  expect((await browser.ask(`${page}/top-up`, { do: "off" })).headers.get("location")).toBe(page);
  expect(await browser.read(page)).toContain('aria-checked="false"');
});

test("owners get an e-mail in their language when automatic top-up is paused", async () => {
  const { id } = await customer(new Shop());
  const sent: { subject: string; text: string; to: string }[] = [];
  const vars = { MAIL: { send: async (mail: never) => void sent.push(mail) } as never, MAIL_FROM: "gateway@example.com" };
  await env.DB.prepare("UPDATE membership SET language = 'ja' WHERE account_id = ?1").bind(id).run();
  await mailTopUp({ ...env, ...vars } as never, { accountId: id, amount: 10_000_000, reason: "declined" });
  expect(sent).toMatchObject([{ subject: "自動チャージを一時停止しました", text: expect.stringContaining("$10.00") }]);
  await mailTopUp({ ...env, ...vars, CONSOLE_URL: "https://gateway.example" } as never, { accountId: id, amount: 1, reason: "disputed" });
  expect(sent.pop()!.text).toMatch(/\n\nhttps:\/\/gateway\.example\/console\/billing\n$/);
  await mailTopUp({ ...env, ...vars } as never, { accountId: "acc_unknown", amount: 1, reason: "disputed" });
  expect(sent).toHaveLength(1);
});

test("Stripe that does not answer is said, and nothing is lost", async () => {
  const shop = new Shop();
  const { browser } = await customer(shop);
  shop.stripe.faults.push(500, 500);
  const answer = await browser.ask(`${page}/pay`, { chosen: "10000000", other: "" });
  expect([answer.status, await answer.text()]).toEqual([503, expect.stringContaining("Stripe does not answer")]);
  expect((await browser.ask(`${page}/pay`, { chosen: "10000000", other: "" })).status).toBe(303);
});

test("payments that the operator has ended: no forms, but what was paid, its receipts and the portal", async () => {
  const vars: Partial<PaymentsBindings> = {};
  const shop = new Shop(vars);
  const gateway = shop.vars;
  const { browser } = await signedUp({}, gateway);
  const { headers } = await browser.ask(`${page}/pay`, { chosen: "10000000", other: "" });
  shop.stripe.pay(inSession(headers.get("location")));
  await shop.deliver();
  vars.STRIPE_PAYMENTS = "off";
  Object.assign(gateway, shop.vars);
  const text = await browser.read(page);
  for (const part of ["Payments", "receipts/pay_", "Cards and invoices at Stripe", "Redeem a code"]) expect(text).toContain(part);
  for (const part of ['billing/pay"', "Automatic top-up"]) expect(text).not.toContain(part);
});

test("without payments the page is as it was, also with a setting that is wrong", async () => {
  for (const vars of [{ STRIPE_SECRET_KEY: "" }, { BALANCE_UNIT: "TOKENS" }]) {
    const { browser } = await customer(new Shop(vars));
    const text = await browser.read(page);
    expect(text).toContain("Redeem a code");
    for (const part of ["Top up", "Payments"]) expect(text).not.toContain(part);
    expect((await browser.ask(`${page}/pay`, { chosen: "10000000", other: "" })).status).toBe(503);
  }
});

test.each([
  ["zh", "通过 Stripe 付款"],
  ["ko", "Stripe로 결제"],
  ["ja", "Stripe で支払う"],
])("the form in %s", async (language, text) => {
  const { browser } = await customer(new Shop());
  const response = await browser.ask(page, undefined, undefined, { "accept-language": language });
  expect(await response.text()).toContain(text);
});

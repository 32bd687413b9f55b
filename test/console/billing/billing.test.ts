/** The console's Billing page: the balance over time, prepaid codes, the history of the quota. */

import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { dailyBalances, daysLeft } from "../../../src/console/billing/series.ts";
import { asAdmin, complete, holdTime, unique } from "../../support/gateway.ts";
import { Browser, person } from "../support.ts";

holdTime();

const page = "/console/billing";

async function newCode(fields: object = {}): Promise<string> {
  return (await asAdmin("/codes", { body: { count: 1, amount: 25, ...fields } })).body.codes[0].code;
}

test("a code is redeemed on the page, shown in the history with its note, and refused the second time", async () => {
  const { browser, account } = await person();
  const code = await newCode({ note: "Autumn <fair>" });
  const done = await browser.ask(`${page}/redeem`, { code: ` ${code.toLowerCase()} ` });
  expect([done.status, done.headers.get("location")]).toEqual([303, `${page}?redeemed=25000000`]);
  const text = await browser.read(`${page}?redeemed=25000000`);
  expect(text).toContain("$25.00 was added to your balance.");
  expect(text).toContain("Autumn &lt;fair&gt;");
  expect((await asAdmin(`/accounts/${account.id}`)).body.quota).toBe(30);
  const again = await browser.ask(`${page}/redeem`, { code });
  expect(again.status).toBe(400);
  const refused = await again.text();
  expect(refused).toContain("This code was already redeemed.");
  expect(refused).toMatch(/aria-invalid="true"/);
  const other = await person();
  expect((await other.browser.ask(`${page}/redeem`, { code })).status).toBe(400);
  expect((await asAdmin(`/accounts/${other.account.id}`)).body.quota).toBe(5);
});

test("after ten wrong codes in an hour even a right one is refused, and it is not lost", async () => {
  const { browser } = await person();
  const code = await newCode();
  for (let attempt = 0; attempt < 10; attempt++) {
    const { status } = await browser.ask(`${page}/redeem`, { code: `wrong ${attempt}` });
    expect(status).toBe(400);
  }
  const refused = await browser.ask(`${page}/redeem`, { code });
  expect([refused.status, await refused.text()]).toEqual([429, expect.stringContaining("Too many attempts")]);
  vi.setSystemTime(Date.now() + 3_601_000);
  expect((await browser.ask(`${page}/redeem`, { code })).status).toBe(303);
});

test("wrong codes of all addresses of a network are counted together", async () => {
  const [first, second] = [(await person()).browser, (await person()).browser];
  const tryFrom = async (browser: Browser, host: number) =>
    (await browser.ask(`${page}/redeem`, { code: "WRONG" }, undefined, { "cf-connecting-ip": `2001:db8:77:1::${host}` })).status;
  for (let at = 1; at <= 10; at++) expect(await tryFrom(first, at)).toBe(400);
  expect(await tryFrom(second, 99)).toBe(429);
});

test("a form from elsewhere, and a visitor who is not signed in, redeem nothing", async () => {
  const { browser } = await person();
  const code = await newCode();
  expect((await browser.ask(`${page}/redeem`, { code }, "https://elsewhere.example")).status).toBe(403);
  expect((await new Browser().ask(`${page}/redeem`, { code })).headers.get("location")).toContain("/console/sign-in");
  expect((await browser.ask(`${page}/redeem`, { code })).status).toBe(303);
});

test("a debit below use is named on the page", async () => {
  const { browser, account } = await person();
  await complete(account, "/v1/images/generations", { model: "imgA-4", prompt: unique() });
  const credit = { id: `refund:${account.id}`, kind: "refund" as const, amount: -5_000_000, at: Date.now(), reason: null };
  await env.WALLETS.getByName(account.id).credit(credit);
  const text = await browser.read(page);
  expect(text).toMatch(/A refund or dispute took \$0\.\d+ more than the balance/);
  expect(text).toContain("Refund");
});

test.each([
  ["zh", "账单"],
  ["ko", "결제"],
  ["ja", "お支払い"],
])("the page in %s", async (language, title) => {
  const { browser } = await person();
  const response = await browser.ask(page, undefined, undefined, { "accept-language": language });
  expect(await response.text()).toContain(`<h1>${title}`);
});

const day = 86_400_000;
test("the balance of each day follows from charges and changes of the quota, backwards from today", () => {
  const since = 10 * day;
  const balances = dailyBalances({
    left: 70,
    spent: [
      { day: since, charged: 10 },
      { day: since + 2 * day, charged: 5 },
      { day: since - day, charged: 1000 },
    ],
    moves: [
      { at: since + day + 5, before: 50, after: 85 },
      { at: since - 1, before: 0, after: 60 },
      { at: since + 2 * day, before: null, after: 85 },
    ],
    since,
    days: 3,
  });
  expect(balances).toEqual([50, 40, 75, 70]);
});

test.each([
  [100, 70, 10],
  [100, 0, undefined],
  [0, 70, undefined],
  [null, 70, undefined],
  [1e9, 7, Infinity],
])("%i left after %i in a week lasts %s days", (left, charged, days) => {
  const now = Date.UTC(2026, 10, 30, 12);
  const spent = [
    { day: Date.UTC(2026, 10, 23), charged: 1_000 },
    { day: Date.UTC(2026, 10, 24), charged },
  ];
  expect(daysLeft(left, spent, now)).toBe(days);
});

/** Budgets and expiries on the console's pages of keys, of the account, and of an account for admins; e-mail of reached budgets. */

import { createExecutionContext, createMessageBatch, getQueueResult } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { mailBudget } from "../../../src/console/letters.ts";
import { findCaller } from "../../../src/db/callers.ts";
import type { BudgetAlert } from "../../../src/wallet/alerts.ts";
import worker from "../../../src/worker.ts";
import { type Account, asAdmin, call, holdTime, submit, unique } from "../../support/gateway.ts";
import { type Browser, mailbox, person, secretIn } from "../support.ts";

holdTime();

const dayMs = 86_400_000;
const images = "/v1/images/generations";
const image = (n = 1) => ({ model: "imgA-4", prompt: unique(), n }); // 0.03 each

let signedUp: ReturnType<typeof person> | undefined;

/** A new key from the form with these fields beside its name. */
async function newKey(fields: Record<string, string>): Promise<{ browser: Browser; account: Account; name: string }> {
  const { browser, id } = await (signedUp ??= person());
  const name = unique();
  const answer = await browser.ask("/console/keys", { name, quota: "", expires: "", ...fields });
  expect(answer.status).toBe(200);
  const key = secretIn(await answer.text());
  return { browser, account: { id, key, keyId: (await findCaller(env, key))!.keyId }, name };
}

const toKey = async ({ key }: Account) => (await call("/v1/key", { key })).body;
/** The key's row in the list. */
const readRow = async (browser: Browser, name: string) =>
  (await browser.read("/console/keys")).split("<tr>").find((row) => row.includes(`title="${name}">${name}</span>`));

test("a key is created with a budget, which limits it from its first request; the list and the form show the remaining amount", async () => {
  vi.setSystemTime(Math.floor(Date.now() / dayMs + 1) * dayMs + 3_600_000);
  const { browser, account, name } = await newKey({ budget: "0.1", window: "day" });
  await submit(account, images, image(3));
  expect((await call(images, { key: account.key, body: image() })).body.error.code).toBe("budget_exceeded");
  expect(await readRow(browser, name)).toContain("$0.01 of $0.10 left today");
  const form = await browser.read(`/console/keys/${account.keyId}/change`);
  expect(form).toContain("$0.01 of $0.10 left today");
  expect(form).toContain(`datetime="${new Date(Math.floor(Date.now() / dayMs + 1) * dayMs).toISOString()}"`);
  expect(form).toMatch(/name="budget"[^>]*value="0.1"/);
  expect(form).toMatch(/<option value="day" selected/);
  // On the next day the whole budget is available again.
  vi.setSystemTime(Math.floor(Date.now() / dayMs + 1) * dayMs);
  expect(await readRow(browser, name)).toContain("$0.10 of $0.10 left today");
});

test("a key's budget is changed, kept and removed by its form; an invalid one is refused and changes nothing", async () => {
  const { browser, account, name } = await newKey({});
  expect((await toKey(account)).budget).toBeNull();
  const change = (fields: Record<string, string>) => browser.ask(`/console/keys/${account.keyId}/change`, { name, quota: "", ...fields });
  expect((await change({ budget: "0.05", window: "month" })).status).toBe(303);
  await submit(account, images, image());
  expect((await toKey(account)).budget).toMatchObject({ amount: 0.05, window: "month", spent: 0.03 });
  expect(await readRow(browser, name)).toContain("$0.02 of $0.05 left this month");
  expect((await change({ budget: "0.05", window: "month", open: "9" })).status).toBe(303);
  expect(await toKey(account)).toMatchObject({ max_open_tasks: 9, budget: { amount: 0.05, spent: 0.03 } });
  for (const wrong of [
    { budget: "-1", window: "day" },
    { budget: "x", window: "day" },
    { budget: "1", window: "week" },
    { budget: "0.0000001", window: "day" },
  ]) {
    const refused = await change(wrong);
    expect(refused.status).toBe(400);
    expect(await refused.text()).toContain("The budget must be a number from 0 to 1,000,000,000");
  }
  expect((await toKey(account)).budget).toMatchObject({ amount: 0.05, window: "month" });
  expect((await change({ budget: "", window: "month" })).status).toBe(303);
  expect((await toKey(account)).budget).toBeNull();
});

test("a key without a valid budget is not created", async () => {
  const { browser } = await (signedUp ??= person());
  const name = unique();
  const refused = await browser.ask("/console/keys", { name, quota: "", expires: "", budget: "1,5", window: "day" });
  expect(refused.status).toBe(400);
  const form = await refused.text();
  expect(form).not.toMatch(/sk-[0-9A-Za-z]{49}/);
  // What was typed is still in the form.
  for (const typed of [`value="${name}"`, 'value="1,5"', '<option value="day" selected']) expect(form).toContain(typed);
  expect(await readRow(browser, name)).toBeUndefined();
});

test("a key's expiry is set, kept and removed later, and an expired key works again; a replaced key keeps the end of its overlap", async () => {
  const { browser, account, name } = await newKey({});
  const path = `/console/keys/${account.keyId}`;
  const change = (expires: string) => browser.ask(`${path}/change`, { name, quota: "", budget: "", expires });
  const dayAhead = (days: number) => new Date(Date.now() + days * dayMs).toISOString().slice(0, 10);
  expect((await change(dayAhead(2))).status).toBe(303);
  const expiresAt = Date.parse(`${dayAhead(2)}T23:59:59Z`) / 1000;
  expect((await toKey(account)).expires_at).toBe(expiresAt);
  expect(await browser.read(`${path}/change`)).toMatch(new RegExp(`name="expires"[^>]*value="${dayAhead(2)}"`));
  const past = await change(dayAhead(-1));
  expect(past.status).toBe(400);
  expect(await past.text()).toContain("The expiry must be in the future");
  vi.setSystemTime(expiresAt * 1000);
  expect((await call("/v1/key", { key: account.key })).status).toBe(401);
  // The day of the expiry is kept if another field changes.
  expect((await change(dayAhead(0))).status).toBe(303);
  expect((await call("/v1/key", { key: account.key })).status).toBe(401);
  expect((await change("")).status).toBe(303);
  expect((await toKey(account)).expires_at).toBeNull();

  await browser.ask(`${path}/rotate`, { overlap: "hour" });
  const end = (await toKey(account)).expires_at;
  expect(await browser.read(`${path}/change`)).not.toContain('name="expires"');
  expect((await change(dayAhead(9))).status).toBe(303);
  expect((await toKey(account)).expires_at).toBe(end);
});

test("an admin sets an account's budget, and the account page shows its user the remaining amount", async () => {
  const { browser, id } = await person();
  const key = secretIn(await (await browser.ask("/console/keys", { name: "one", quota: "", budget: "" })).text());
  expect(await browser.read("/console/account")).not.toContain("The operator set this budget");
  await asAdmin(`/accounts/${id}`, { method: "PATCH", body: { admin: true } });
  const path = `/console/admin/accounts/${id}`;
  expect((await browser.ask(`${path}/budget`, { budget: "0.08", window: "month" })).status).toBe(303);
  await submit({ id, key, keyId: "" }, images, image());
  for (const page of [path, "/console/account"]) expect(await browser.read(page)).toContain("$0.05 of $0.08 left this month");
  const refused = await browser.ask(`${path}/budget`, { budget: "much", window: "month" });
  expect(refused.status).toBe(400);
  expect(await refused.text()).toContain("The budget must be a number");
  expect((await call(images, { key, body: image(2) })).body.error.code).toBe("budget_exceeded");
  await browser.ask(`${path}/budget`, { budget: "", window: "month" });
  await submit({ id, key, keyId: "" }, images, image(2));
  await asAdmin(`/accounts/${id}`, { method: "PATCH", body: { admin: false } });
  expect((await browser.ask(`${path}/budget`, { budget: "9", window: "day" })).status).toBe(404);
});

/** Delivers the alert by e-mail, with a console that has these variables: "ack", or the seconds until the queue delivers it again. */
async function mail(budget: BudgetAlert, vars: Partial<ConsoleEnv>): Promise<"ack" | number | undefined> {
  const CONSOLE = { mailBudget: (reached: BudgetAlert) => mailBudget({ ...env, ...vars }, reached) } as unknown as NonNullable<
    Env["CONSOLE"]
  >;
  const body = { budget, by: "mail" as const };
  const batch = createMessageBatch("gateway-notify", [{ id: "1", timestamp: new Date(), attempts: 1, body }]);
  const [message] = batch.messages as [Message];
  const retries = vi.spyOn(message, "retry");
  await worker.queue(batch, { ...env, CONSOLE }, createExecutionContext());
  const { explicitAcks } = await getQueueResult(batch, createExecutionContext());
  return explicitAcks.length > 0 ? "ack" : retries.mock.calls[0]?.[0]?.delaySeconds;
}

test("a reached budget causes an e-mail to the account's user, in the language of their latest page; a refused e-mail is sent again", async () => {
  const { browser, email, id } = await person();
  const page = await (await browser.ask("/console/keys", { name: "Stapel", quota: "", budget: "" })).text();
  const { keyId } = (await findCaller(env, secretIn(page)))!;
  const { emails: sent, vars } = mailbox();
  const data = { percent: 80 as const, amount: 5, window: "day" as const, spent: 4.02, ends_at: Date.UTC(2027, 0, 2) / 1000 };
  const reached = { id: "evt_budget_1", accountId: id, keyId, at: Date.now(), data };
  expect(await mail(reached, vars)).toBe("ack");
  expect(sent).toEqual([
    {
      to: email,
      from: "gateway@example.com",
      subject: "80 % of a budget is reached",
      text:
        "Hello A <b>person</b>,\n\n" +
        "The key Stapel has reached 80 % of its budget: $4.02 of $5.00, including reserved amounts.\n\n" +
        "Requests above the budget are refused until 2027-01-02 00:00 UTC.\n",
      html: expect.stringContaining("<p>Hello A &lt;b&gt;person&lt;/b&gt;,</p>") as string,
    },
  ]);
  await browser.ask("/console/account", undefined, null, { "accept-language": "ko" });
  expect(await mail({ ...reached, keyId: undefined, data: { ...data, percent: 100 } }, vars)).toBe("ack");
  expect(sent[1]).toMatchObject({ to: email, subject: "예산의 100%에 도달했습니다" });
  expect(sent[1]?.text).toContain("계정이 예산의 100%에 도달했습니다");

  // With the console's address the e-mail ends in a button.
  await browser.ask("/console/account", undefined, null, { "accept-language": "en" });
  expect(await mail(reached, { ...vars, CONSOLE_URL: "https://gateway.example" })).toBe("ack");
  expect(sent.pop()).toMatchObject({
    text: expect.stringMatching(/UTC\.\n\nhttps:\/\/gateway\.example\/console\/keys\n$/) as string,
    html: expect.stringMatching(/<a href="https:\/\/gateway\.example\/console\/keys" style="[^"]+"\s*>Open the console<\/a\s*>/) as string,
  });

  const broken = { send: () => Promise.reject(new Error("E_RATE_LIMIT")) } as unknown as SendEmail;
  expect(await mail(reached, { ...vars, MAIL: broken })).toBe(5);
  // Nothing is sent if e-mail is not configured, the key was deleted, or the account is disabled.
  expect(await mail(reached, {})).toBe("ack");
  expect(await mail({ ...reached, keyId: "key_gone" }, vars)).toBe("ack");
  await asAdmin(`/accounts/${id}`, { method: "PATCH", body: { disabled: true } });
  expect(await mail(reached, vars)).toBe("ack");
  expect(sent).toHaveLength(2);
});

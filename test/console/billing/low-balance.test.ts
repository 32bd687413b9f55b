/** A balance that does not suffice: what it covers and who can add to it, credit that is asked for, and e-mail below a threshold. */

import "../../support/alone.ts";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { tellLowBalances } from "../../../src/operations/low-balances.ts";
import { Objects } from "../../../src/rpc/objects.ts";
import { asAdmin, holdTime } from "../../support/gateway.ts";
import { toEnv } from "../../support/models.ts";
import { mailLowBalance } from "../../../src/console/letters.ts";
import { Browser, operator, person } from "../support.ts";

holdTime();

interface Email {
  to: string;
  subject: string;
  text: string;
}

/** E-mail that is collected; `fails` refuses the next one. */
function mailbox() {
  const sent: Email[] = [];
  const box = { sent, fails: false };
  const send = async (one: Email) => {
    if (box.fails) throw new Error("E_RATE_LIMIT");
    sent.push(one);
    return { messageId: "1" };
  };
  const vars = { MAIL: { send } as unknown as SendEmail, MAIL_FROM: "gateway@example.com", CONSOLE_URL: "https://gateway.example" };
  return { box, vars };
}

async function withMail(vars: Partial<ConsoleEnv>) {
  const own: Partial<ConsoleEnv> = {};
  const made = await person(new Browser(own));
  // After the sign-up, which would else wait for an e-mail.
  Object.assign(own, vars);
  return made;
}

const setQuota = (id: string, quota: number) => asAdmin(`/accounts/${id}`, { method: "PATCH", body: { quota } });

test("owners get one e-mail each time the balance falls below their threshold, also after a fault", async () => {
  const { box, vars } = mailbox();
  const { browser, id, email } = await person();
  const CONSOLE = { mailLowBalance: (low: Parameters<typeof mailLowBalance>[1]) => mailLowBalance({ ...env, ...vars }, low) };
  const objects = new Objects(toEnv({ CONSOLE: CONSOLE as unknown as NonNullable<Env["CONSOLE"]> }));
  const run = () => tellLowBalances(env, objects);

  for (const below of ["-1", "0", "x", "0.0000001"]) {
    const refused = await browser.ask("/console/billing/low", { below });
    expect([refused.status, await refused.text()]).toEqual([400, expect.stringMatching(/id="f-below"[^>]*aria-invalid="true"/)]);
  }
  expect((await browser.ask("/console/billing/low", { below: "3" })).status).toBe(303);
  expect(await browser.read("/console/billing")).toContain("E-mail below 3 USD");
  await browser.ask("/console/billing/low", { below: "3" });
  const log = await asAdmin(`/audit_log?account=${id}&act=low_balance_changed`);
  expect(log.body.data, "once").toMatchObject([{ actor: { kind: "user", name: email }, before: null, after: { below: 3 } }]);
  await run();
  expect(box.sent).toEqual([]);

  await setQuota(id, 2);
  expect(await browser.read("/console/billing")).toContain("$2.00");
  box.fails = true;
  await run();
  box.fails = false;
  await run();
  await run();
  expect(box.sent.map(({ to, subject }) => [to, subject])).toEqual([[email, "Your balance is below $3.00"]]);
  expect(box.sent[0]?.text).toContain("The balance of A <b>person</b> is $2.00, which is below your limit of $3.00.");
  expect(box.sent[0]?.text).toContain("https://gateway.example/console/billing");

  // Above and below again is a second time; so is a threshold that was changed.
  await setQuota(id, 9);
  await run();
  await setQuota(id, 1);
  await run();
  await run();
  expect(box.sent.length).toBe(2);
  await browser.ask("/console/billing/low", { below: "4" });
  await run();
  expect(box.sent.length).toBe(3);
  expect((await browser.ask("/console/billing/low", { below: "" })).status).toBe(303);
  await setQuota(id, 9);
  await run();
  await setQuota(id, 1);
  await run();
  expect(box.sent.length).toBe(3);
});

test("an account without a limit has no low balance, and an erased one no row", async () => {
  const { browser, id } = await person();
  await browser.ask("/console/billing/low", { below: "3" });
  await asAdmin(`/accounts/${id}`, { method: "PATCH", body: { quota: null } });
  expect(await browser.read("/console/billing")).not.toContain("E-mail below");
  await asAdmin(`/accounts/${id}`, { method: "DELETE" });
  expect(await env.DB.prepare("SELECT 1 FROM low_balance WHERE account_id = ?1").bind(id).first()).toBeNull();
});

test("the playground names a model that the balance covers, and whom to ask; the page of an empty account too", async () => {
  const { browser, id } = await person();
  await setQuota(id, 0.04);
  const shown = await browser.read("/console/playground?model=imgA-4&n=4&prompt=a+red+kite");
  expect(shown).toMatch(/The balance is \$0\.04, which covers [\w.-]+ at \$0\.0\d+\./);
  expect(shown).toContain("The operator of this gateway can add credit.");
  expect(shown).toMatch(/href="\/console\/playground\?model=[\w.-]+&amp;prompt=a\+red\+kite"/);
  expect(shown).toContain('href="/console/credit"');
  await setQuota(id, 0);
  expect(await browser.read("/console/playground?model=imgA-4&prompt=x")).toContain("The balance is $0.00, which covers no model here.");
});

test("credit is asked for by e-mail, to the operators, at most twice an hour; without e-mail the page says whom to ask", async () => {
  const { box, vars } = mailbox();
  const operator = await person();
  await env.DB.prepare("UPDATE account SET admin = 1 WHERE id = ?1").bind(operator.id).run();
  const { browser, id, email } = await withMail(vars);
  expect(await browser.read("/console/credit")).toContain("The operators of this gateway get an e-mail");
  for (let time = 0; time < 2; time++) {
    const asked = await browser.ask("/console/credit", { words: "a film <b>today</b>" });
    expect([asked.status, asked.headers.get("location")]).toEqual([303, "/console/credit?sent=1"]);
  }
  expect((await browser.ask("/console/credit", { words: "" })).status).toBe(429);
  expect((await browser.ask("/console/credit", { words: "x".repeat(501) })).status).toBe(400);
  const mine = box.sent.filter(({ to }) => to === operator.email);
  expect(mine.map(({ subject }) => subject)).toEqual([`${email} asks for credit`, `${email} asks for credit`]);
  expect(mine[0]?.text).toContain("whose balance is $5.00.\n\n“a film <b>today</b>”");
  expect(mine[0]?.text).toContain(`/console/admin/accounts/${id}`);
  const other = await person();
  expect(await other.browser.read("/console/credit")).toContain("This gateway sends no e-mail.");
});

test("a link in the words of a user who asks for credit becomes no button in the operators' e-mail", async () => {
  const pages: string[] = [];
  const send = async ({ html }: { html: string }) => (pages.push(html), { messageId: "1" });
  const vars = { MAIL: { send } as unknown as SendEmail, MAIL_FROM: "gateway@example.com" };
  const { browser } = await withMail(vars);
  await operator();
  const words = "Please sign in again:\r\n\r\nhttps://evil.example/console\n\n\u2028https://evil.example/two";
  expect((await browser.ask("/console/credit", { words })).headers.get("location")).toBe("/console/credit?sent=1");
  expect(pages.length).toBeGreaterThan(0);
  for (const html of pages) {
    expect(html).toContain("“Please sign in again: https://evil.example/console https://evil.example/two”");
    expect([...html.matchAll(/href="([^"]+)"/g)].map(([, to]) => new URL(to ?? "").origin)).toEqual(["https://gateway.example"]);
  }
});

test("a hundred accounts whose e-mail is refused keep no other account waiting", async () => {
  const ids = Array.from({ length: 100 }, (_, at) => `acc_${String(at).padStart(3, "0")}_${crypto.randomUUID()}`);
  await env.DB.batch(
    ids.flatMap((id) => [
      env.DB.prepare("INSERT INTO account (id, email, created_at) VALUES (?1, ?1 || '@example.com', 1)").bind(id),
      env.DB.prepare("INSERT INTO wallet (id, quota) VALUES (?1, 0)").bind(id),
      env.DB.prepare("INSERT INTO low_balance (account_id, threshold) VALUES (?1, 1)").bind(id),
    ]),
  );
  const { id } = await person();
  await env.DB.prepare("INSERT INTO low_balance (account_id, threshold) VALUES (?1, 1000000)").bind(id).run();
  await setQuota(id, 0);
  const told: string[] = [];
  const objects = {
    mailLowBalance: async ({ accountId }: { accountId: string }) => {
      if (ids.includes(accountId)) throw new Error("refused");
      told.push(accountId);
    },
  };
  for (let run = 0; run < 4; run++) await tellLowBalances(env, objects);
  expect(told).toEqual([id]);
});

/** How a user joins an account that the operator opened. */

import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { insertAccount, invite } from "../../../src/db/accounts.ts";
import { byTest } from "../../support/actor.ts";
import { openWallet } from "../../../src/db/ledger.ts";
import { Browser, mailbox } from "../support.ts";

const password = "correct horse battery";
const byInvitation = { SIGNUP: "invite" };

/** An account with a quota of 1000, and an invitation to it. */
async function invited(): Promise<{ email: string; token: string }> {
  const email = `invited-${crypto.randomUUID()}@example.com`;
  const { account, statement } = insertAccount(env.DB, email, null);
  await env.DB.batch([statement, openWallet(env.DB, account.id, 1_000_000_000)]);
  return { email, token: (await invite(env.DB, byTest, account.id)).token };
}

test("where signing up needs an invitation, it is refused without one", async () => {
  const browser = new Browser(byInvitation);
  for (const path of ["/console/sign-up", "/console/sign-up?invitation=inv_unknown"]) expect((await browser.ask(path)).status).toBe(403);
  const form = { name: "Eve", email: "eve@example.com", password, invitation: "inv_unknown" };
  expect((await browser.ask("/console/sign-up", form)).status).toBe(403);
});

test("an invited user joins the account once, only with the invited e-mail address", async () => {
  const { email, token } = await invited();
  const browser = new Browser(byInvitation);
  const page = await browser.read(`/console/sign-up?invitation=${token}`);
  expect(page).toContain(email);
  const form = { name: "Ann", email: "other@example.com", password, invitation: token };
  expect((await browser.ask("/console/sign-up", form)).status).toBe(303);
  expect(await browser.read("/console")).toContain("$1,000.00");
  expect((await new Browser().ask("/console/sign-in", { email, password })).status).toBe(303);
  expect((await new Browser(byInvitation).ask("/console/sign-up", { ...form, name: "Eve" })).status).toBe(403);
});

test("where e-mail is sent, an operator's invitation still opens the account at once, and not for who had signed up with the address", async () => {
  const { vars } = mailbox();
  const [first, second] = [await invited(), await invited()];
  const browser = new Browser({ ...vars, ...byInvitation });
  const form = { name: "Ann", email: first.email, password, invitation: first.token };
  expect((await browser.ask("/console/sign-up", form)).headers.get("location")).toBe("/console");
  expect(await browser.read("/console")).toContain("$1,000.00");
  // A stranger who knows the address, but has no invitation.
  await new Browser(vars).ask("/console/sign-up", { name: "Eve", email: second.email, password: "a stranger's horse" });
  const late = { ...form, email: second.email, invitation: second.token };
  expect((await new Browser(vars).ask("/console/sign-up", late)).status).toBe(400);
  const stranger = await new Browser(vars).ask("/console/sign-in", { email: second.email, password: "a stranger's horse" });
  expect(stranger.status).toBe(401);
});

test("a user who signs up again by an operator's invitation joins with one session", async () => {
  const { vars } = mailbox();
  const { email, token } = await invited();
  await new Browser().ask("/console/sign-up", { name: "Ann", email, password });
  await env.DB.prepare("UPDATE auth_user SET emailVerified = 1 WHERE email = ?1").bind(email).run();
  await env.DB.prepare("DELETE FROM auth_session WHERE userId = (SELECT id FROM auth_user WHERE email = ?1)").bind(email).run();
  const browser = new Browser({ ...vars, ...byInvitation });
  expect((await browser.ask("/console/sign-up", { name: "Ann", email, password, invitation: token })).status).toBe(303);
  expect(await browser.read("/console")).toContain("$1,000.00");
  const sessions = "SELECT count(*) AS n FROM auth_session WHERE userId = (SELECT id FROM auth_user WHERE email = ?1)";
  expect(await env.DB.prepare(sessions).bind(email).first("n")).toBe(1);
});

test("a user who had signed up before joins by signing in with the invitation; another user does not", async () => {
  const { email, token } = await invited();
  const browser = new Browser();
  expect((await browser.ask("/console/sign-up", { name: "Ann", email, password })).status).toBe(303);
  expect((await browser.ask("/console")).status).toBe(403);
  const stranger = new Browser();
  const theirs = await stranger.signUp(password);
  expect((await stranger.ask("/console/sign-in", { email: theirs, password, invitation: token })).status).toBe(303);
  expect(await stranger.read("/console")).toContain("$5.00");
  expect((await browser.ask("/console/sign-in", { email, password, invitation: token })).status).toBe(303);
  expect(await browser.read("/console")).toContain("$1,000.00");
});

test("an expired invitation is refused", async () => {
  const { token } = await invited();
  await env.DB.prepare("UPDATE invitation SET expires_at = ?1")
    .bind(Date.now() - 1)
    .run();
  expect((await new Browser(byInvitation).ask(`/console/sign-up?invitation=${token}`)).status).toBe(403);
});

test("where signing up is off, invitations are refused too", async () => {
  const { email, token } = await invited();
  const browser = new Browser({ SIGNUP: "closed" });
  expect((await browser.ask(`/console/sign-up?invitation=${token}`)).status).toBe(403);
  expect((await browser.ask("/console/sign-up", { name: "Ann", email, password, invitation: token })).status).toBe(403);
});

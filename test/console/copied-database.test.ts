/** What a copy of the database is worth: nothing. No row has a secret that is accepted, or that opens another one. */

import "../support/alone.ts";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { accountByEmail } from "../../src/db/accounts.ts";
import { readWebhook, sealSecrets } from "../../src/db/webhooks.ts";
import { type Account, asAdmin, call, holdTime, newAccount } from "../support/gateway.ts";
import { Browser, mailbox, signedUp } from "./support.ts";

holdTime();

/** Every row of the database. */
async function copyDatabase(): Promise<string> {
  const { results } = await env.DB.prepare(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_%' ESCAPE '\\' AND name NOT LIKE 'sqlite%'",
  ).run<{ name: string }>();
  const tables = await Promise.all(results.map(async ({ name }) => (await env.DB.prepare(`SELECT * FROM ${name}`).run()).results));
  return JSON.stringify(tables);
}

const storedSecrets = async ({ id }: Pick<Account, "id">) =>
  (await env.DB.prepare("SELECT secret, old_secret AS oldSecret FROM webhook WHERE account_id = ?1").bind(id).first<{
    secret: string;
    oldSecret: string | null;
  }>())!;

test("API keys, client tokens, webhook secrets, invitations, links to reset a password and session cookies are not in the database", async () => {
  const { emails: sent, vars } = mailbox();
  const { browser, email } = await signedUp(vars);
  const link = /token=([^\s&]+)/.exec(sent.find(({ to }) => to === email)!.text)?.[1] ?? "";
  await browser.ask("/console/sign-in", { email, password: "correct horse battery", to: `/console/confirm?token=${link}` });
  const account = (await accountByEmail(env.DB, email)) ?? (await newAccount());
  const { body: key } = await asAdmin(`/accounts/${account.id}/keys`, { body: { name: "key", quota: null } });
  const secrets: Record<string, string> = { key: key.key };
  secrets["token"] = (await call("/v1/tokens", { key: key.key, body: { tasks: 1, max_cost: 1, expires_in: 600 } })).body.token;
  for (const name of ["previous", "secret"])
    secrets[name] = (await call("/v1/webhook_secret", { key: key.key, method: "POST" })).body.secret;
  const { body: invitation } = await asAdmin(`/accounts/${account.id}/invitations`, { method: "POST" });
  secrets["invitation"] = new URL(invitation.url).searchParams.get("invitation")!;
  sent.length = 0;
  await browser.ask("/console/forgot", { email });
  await vi.waitFor(() => expect(sent).toHaveLength(1));
  secrets["reset"] = /token=([^\s&]+)/.exec(sent.at(-1)?.text ?? "")?.[1] ?? "";
  for (const [name, value] of browser.cookies) if (/session/.test(name)) secrets[name] = decodeURIComponent(value);
  expect(Object.keys(secrets)).toContain("__Secure-gateway.session_token");

  const copy = await copyDatabase();
  for (const [name, secret] of Object.entries(secrets)) {
    expect(secret.length, name).toBeGreaterThan(20);
    expect(copy.includes(secret), name).toBe(false);
  }
  const stored = await storedSecrets(account);
  for (const row of [stored.secret, stored.oldSecret]) expect(row).toMatch(/^sealed:[0-9a-f]{8}:/);
  // The part of the cookie that the database has is refused without its signature.
  const [token = ""] = (secrets["__Secure-gateway.session_token"] ?? "").split(".");
  expect(copy).toContain(token);
  const thief = new Browser();
  for (const cookie of [token, `${token}.`, `${token}.${btoa("a signature of 32 bytes, invented")}`]) {
    const answer = await thief.ask("/console", undefined, undefined, {
      cookie: `__Secure-gateway.session_token=${encodeURIComponent(cookie)}`,
    });
    expect(answer.headers.get("location") ?? "").toContain("/console/sign-in");
  }
});

test("a webhook secret that an earlier version stored as it is signs on, and the regular jobs seal it", async () => {
  const account = await newAccount();
  const [secret, old] = [`whsec_${btoa("a".repeat(32))}`, `whsec_${btoa("b".repeat(32))}`];
  await env.DB.prepare("INSERT INTO webhook (account_id, secret, old_secret, rotated_at) VALUES (?1, ?2, ?3, 5)")
    .bind(account.id, secret, old)
    .run();
  expect((await call("/v1/webhook_secret", { key: account.key })).body.secret).toBe(secret);
  for (let after: string | undefined = ""; after !== undefined;) after = await sealSecrets(env, after, 2);
  const sealed = await storedSecrets(account);
  expect(sealed.secret).toMatch(/^sealed:/);
  expect(sealed.oldSecret).toMatch(/^sealed:/);
  expect(await readWebhook(env, account.id)).toEqual({ url: null, secret, oldSecret: old, rotatedAt: 5 });
  await sealSecrets(env, "", 1_000);
  expect(await storedSecrets(account), "once").toEqual(sealed);
});

test("after a rotation of SEALING_KEY webhook secrets are sealed again, and open without the old value", async () => {
  const account = await newAccount();
  const secret = (await call("/v1/webhook_secret", { key: account.key })).body.secret as string;
  const rotated = { DB: env.DB, SEALING_KEY: "another secret", SEALING_KEY_OLD: env.SEALING_KEY };
  const alone = { DB: env.DB, SEALING_KEY: "another secret" };
  expect((await readWebhook(rotated, account.id)).secret).toBe(secret);
  await expect(readWebhook(alone, account.id)).rejects.toThrow("another SEALING_KEY");
  await sealSecrets(alone, "", 1_000);
  await sealSecrets(rotated, "", 1_000);
  expect((await readWebhook(alone, account.id)).secret).toBe(secret);
  await sealSecrets({ ...alone, SEALING_KEY: env.SEALING_KEY, SEALING_KEY_OLD: "another secret" }, "", 1_000);
});

test("a sealed secret does not open in another account's row", async () => {
  const [one, other] = [await newAccount(), await newAccount()];
  await readWebhook(env, one.id);
  await env.DB.prepare("INSERT INTO webhook (account_id, secret) SELECT ?2, secret FROM webhook WHERE account_id = ?1")
    .bind(one.id, other.id)
    .run();
  await expect(readWebhook(env, other.id)).rejects.toThrow();
});

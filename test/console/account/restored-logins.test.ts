/** A restored database does not bring back what users signed in with before. */

import "../../support/alone.ts";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { accountByEmail } from "../../../src/db/accounts.ts";
import { inviteMember, listInvitations } from "../../../src/db/member-invitations.ts";
import { findMembershipOf, removeMember } from "../../../src/db/memberships.ts";
import { Objects } from "../../../src/rpc/objects.ts";
import { WalletObject } from "../../../src/wallet/object.ts";
import { asAdmin, call, holdTime, wakeWallet } from "../../support/gateway.ts";
import { backUp, restore } from "../../operations/backup.ts";
import { bindings, failOnce } from "../../support/faults.ts";
import { Browser, mailbox, signedUp } from "../support.ts";

holdTime();

const [first, second] = ["correct horse battery", "another horse battery"];
const later = (seconds: number) => vi.setSystemTime(Date.now() + 1000 * seconds);
const signIn = async (email: string, password: string) => (await new Browser().ask("/console/sign-in", { email, password })).status;

test.each(["changed", "reset"])(
  "a password that was %s since the backup stays so, a deleted passkey stays deleted, and sessions end",
  async (how) => {
    const { emails, vars } = mailbox();
    const browser = new Browser();
    const email = await browser.signUp(first);
    const account = (await accountByEmail(env.DB, email))!;
    const { body: key } = await asAdmin(`/accounts/${account.id}/keys`, { body: { name: "key", quota: null } });
    const user = (await env.DB.prepare("SELECT id FROM auth_user WHERE email = ?1").bind(email).first<string>("id"))!;
    const passkeys = async () => (await env.DB.prepare("SELECT id FROM auth_passkey WHERE userId = ?1").bind(user).run()).results;
    await env.DB.prepare(
      "INSERT INTO auth_passkey (id, name, publicKey, userId, credentialID, counter, deviceType, backedUp) VALUES (?1, 'a', 'x', ?2, ?1, 0, 'x', 0)",
    )
      .bind(`old-${user}`, user)
      .run();
    const backup = await backUp();
    later(600);
    expect((await browser.ask(`/console/account/passkeys/old-${user}/delete`, {})).status).toBe(303);
    if (how === "changed") await browser.ask("/console/account/password", { old: first, new: second });
    else {
      await new Browser(vars).ask("/console/forgot", { email });
      await vi.waitFor(() => expect(emails).toHaveLength(1));
      const token = /token=([^\s&]+)/.exec(emails[0]?.text ?? "")?.[1] ?? "";
      expect((await browser.ask("/console/reset", { token, password: second })).status).toBe(303);
    }
    expect(await signIn(email, second)).toBe(303);
    later(10);
    await wakeWallet({ id: account.id, key: "", keyId: "" });
    await restore(backup);
    later(600);
    expect((await call("/v1/models", { key: key.key })).status).toBe(401);

    const { body } = await asAdmin(`/reconcile?account=${account.id}&restored=replay`, { method: "POST" });
    expect(body.restored[0].changes.at(-1)).toEqual({ change: "logins" });
    expect([await signIn(email, first), await signIn(email, second)]).toEqual([401, 303]);
    expect(await passkeys()).toEqual([]);
    expect((await browser.ask("/console/account")).status).toBe(303);
    expect((await call("/v1/models", { key: key.key })).status).toBe(200);
  },
);

test("an admin whose role was taken, and a member who was removed, get no page with a session that a restored database brings back", async () => {
  const [admin, guest] = [new Browser(), new Browser()];
  const account = (await accountByEmail(env.DB, await admin.signUp()))!;
  const own = (await accountByEmail(env.DB, await guest.signUp()))!;
  const setAdmin = async (isAdmin: boolean) =>
    expect((await asAdmin(`/accounts/${account.id}`, { method: "PATCH", body: { admin: isAdmin } })).status).toBe(200);
  await setAdmin(true);
  const userOf = async (id: string) =>
    (await env.DB.prepare("SELECT user_id FROM membership WHERE account_id = ?1").bind(id).first<string>("user_id"))!;
  const [ownerId, userId] = [await userOf(account.id), await userOf(own.id)];
  await env.DB.prepare("INSERT INTO membership (id, account_id, user_id, role, created_at) VALUES ('mem_guest', ?1, ?2, 'admin', 2)")
    .bind(account.id, userId)
    .run();
  expect((await guest.ask("/console/switch", { account: account.id })).status).toBe(303);
  const pages = ["/console", "/console/tasks", "/console/webhooks", "/console/billing", "/console/keys", "/console/logs"];
  const adminPages = ["/console/admin", "/console/admin/accounts", "/console/admin/margins", "/console/admin/audit"];
  const readAll = async (browser: Browser, paths: string[]) =>
    Promise.all(paths.map(async (path) => [path, (await browser.ask(path)).status]));
  const all = (paths: string[], status: number) => paths.map((path) => [path, status]);
  expect(await readAll(admin, [...pages, ...adminPages])).toEqual(all([...pages, ...adminPages], 200));
  expect(await readAll(guest, pages)).toEqual(all(pages, 200));

  const by = { kind: "user", id: ownerId, address: null } as const;
  const link = { role: "admin", email: null, name: "link", maxUses: 5, expiresAt: Date.now() + 86_400_000 } as const;
  const token = (await inviteMember(env.DB, new Objects(env), by, account.id, link))!;
  const backup = await backUp();
  later(600);
  await setAdmin(false);
  expect(await removeMember(env.DB, new Objects(env), by, (await findMembershipOf(env.DB, account.id, userId))!)).toBe("done");
  await wakeWallet({ id: account.id, key: "", keyId: "" });
  await restore(backup);
  expect(await readAll(admin, [...pages, ...adminPages])).toEqual(all([...pages, ...adminPages], 403));
  expect(await readAll(guest, pages)).toEqual(all(pages, 403));
  const forms: [string, Record<string, string>][] = [
    ["/console/admin/reconcile", { restored: "accept" }],
    ["/console/admin/models/imgA-4/edit", { entry: "{}" }],
    ["/console/webhooks/rotate", {}],
    ["/console/account/password", { old: first, new: second }],
  ];
  for (const [path, form] of forms) expect([path, (await admin.ask(path, form)).status]).toEqual([path, 403]);
  const refusal = await admin.read("/console/billing");
  expect(refusal).toContain("has not yet confirmed who may use this account");
  expect(refusal, "neither balance nor menu").not.toContain('href="/console/usage"');
  expect(await admin.read("/status"), "nor on a public page").not.toContain('href="/console/usage"');

  // Nor may anyone join by a link that was withdrawn with the member's removal.
  const { browser: stranger } = await signedUp();
  expect((await stranger.ask("/console/join", { invitation: token })).status).toBe(403);
  // The other account of the removed member is not concerned.
  expect((await guest.ask("/console/switch", { account: own.id })).status).toBe(303);
  expect(await readAll(guest, pages)).toEqual(all(pages, 200));
  await asAdmin(`/reconcile?account=${account.id}&restored=replay`, { method: "POST" });
  expect(await signIn(account.email, "correct horse battery")).toBe(303);
});

test.each(["withdrawn", "replaced by one to a smaller role"])("an invitation that was %s stays so after a restore", async (how) => {
  const browser = new Browser();
  const account = (await accountByEmail(env.DB, await browser.signUp()))!;
  const { browser: guest, email } = await signedUp();
  const ownerId = (await env.DB.prepare("SELECT user_id AS id FROM membership WHERE account_id = ?1")
    .bind(account.id)
    .first<string>("id"))!;
  const by = { kind: "user", id: ownerId, address: null } as const;
  const objects = new Objects(env);
  const invite = (role: "admin" | "viewer") =>
    inviteMember(env.DB, objects, by, account.id, { role, email, name: null, maxUses: 1, expiresAt: Date.now() + 86_400_000 });
  const token = (await invite("admin"))!;
  const id = (await listInvitations(env.DB, account.id, Date.now()))[0]?.id ?? "";
  const backup = await backUp();
  later(600);
  if (how === "withdrawn") expect((await browser.ask(`/console/members/invitations/${id}/withdraw`, {})).status).toBe(303);
  else await invite("viewer");
  await wakeWallet({ id: account.id, key: "", keyId: "" });
  await restore(backup);
  later(600);
  expect((await guest.ask("/console/join", { invitation: token })).status).toBe(403);
  const { body } = await asAdmin(`/reconcile?account=${account.id}&restored=replay`, { method: "POST" });
  expect(body.restored[0].changes).toEqual([{ change: "invitation_withdrawn", id }]);
  expect((await guest.ask("/console/join", { invitation: token })).status).toBe(403);
  expect(await listInvitations(env.DB, account.id, Date.now())).toEqual([]);
});

test("pages ask the wallet object for lost changes at most every eight seconds", async () => {
  const { browser } = await signedUp();
  const calls = vi.spyOn(WalletObject.prototype, "checkKeys");
  for (const path of ["/console", "/console/tasks", "/console/models"]) expect((await browser.ask(path)).status).toBe(200);
  expect(calls).toHaveBeenCalledTimes(1);
  later(9);
  await browser.ask("/console/keys");
  expect(calls).toHaveBeenCalledTimes(2);
});

test("a changed password is changed also if it cannot be recorded, and the log says so", async () => {
  const errors = vi.spyOn(console, "error").mockImplementation(() => undefined);
  const browser = new Browser();
  const email = await browser.signUp(first);
  failOnce(bindings.namespace(), "getByName", false, 3);
  const answer = await browser.ask("/console/account/password", { old: first, new: second });
  expect(answer.headers.get("location")).toBe("/console/account?done=password");
  expect(errors.mock.calls.flat().join()).toContain("logins_not_recorded");
  vi.restoreAllMocks();
  expect([await signIn(email, first), await signIn(email, second)]).toEqual([401, 303]);
});

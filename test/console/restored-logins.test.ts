/** A restored database does not bring back what users signed in with before. */

import "../support/alone.ts";
import { env } from "cloudflare:workers";
import { afterEach, expect, test, vi } from "vitest";
import { accountByEmail } from "../../src/db/accounts.ts";
import { asAdmin, call, holdTime, wakeWallet } from "../support/gateway.ts";
import { backUp, restore } from "../operations/backup.ts";
import { bindings, failOnce } from "../support/faults.ts";
import { Browser } from "./support.ts";

holdTime();
afterEach(() => vi.restoreAllMocks());

const [first, second] = ["correct horse battery", "another horse battery"];
const later = (seconds: number) => vi.setSystemTime(Date.now() + 1000 * seconds);
const signIn = async (email: string, password: string) => (await new Browser().ask("/console/sign-in", { email, password })).status;

test.each(["changed", "reset"])(
  "a password that was %s since the backup stays so, a deleted passkey stays deleted, and sessions end",
  async (how) => {
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    const sent: string[] = [];
    const MAIL = { send: async ({ text }: { text: string }) => void sent.push(text) } as unknown as SendEmail;
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
      await new Browser({ MAIL, MAIL_FROM: "gateway@gateway.example" }).ask("/console/forgot", { email });
      await vi.waitFor(() => expect(sent).toHaveLength(1));
      const token = /token=([^\s&]+)/.exec(sent[0] ?? "")?.[1] ?? "";
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

/** Variables of the console: an invalid value creates no account with a default quota, and pages do not fall back to a default. */

import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { accountByEmail } from "../../src/db/accounts.ts";
import { Browser } from "./support.ts";

const person = () => ({ name: "Ann", email: `ann-${crypto.randomUUID()}@example.com`, password: "correct horse battery" });
const logged = (spy: { mock: { calls: unknown[][] } }) => spy.mock.calls.map(([line]) => String(line)).join("\n");

test.each(["lots", "", "-1", "1e9", "Infinity", undefined])(
  "SIGNUP_QUOTA = %j creates no account, and the log names the variable",
  async (quota) => {
    const spy = vi.spyOn(console, "error");
    const browser = new Browser({ SIGNUP_QUOTA: quota as string });
    const form = person();
    expect((await browser.ask("/console/sign-up")).status).toBe(500);
    expect((await browser.ask("/console/sign-up", form)).status).toBe(500);
    expect(logged(spy)).toContain("SIGNUP_QUOTA must be a number");
    expect(await accountByEmail(env.DB, form.email)).toBeUndefined();
    // Nothing was stored: with a corrected variable the same user can sign up.
    expect((await new Browser().ask("/console/sign-up", form)).status).toBe(303);
  },
);

test("a user who signs in while SIGNUP_QUOTA is wrong gets no account", async () => {
  const form = person();
  const spy = vi.spyOn(console, "error");
  await new Browser().ask("/console/sign-up", form);
  const account = (await accountByEmail(env.DB, form.email))!;
  await env.DB.prepare("DELETE FROM member WHERE account_id = ?1").bind(account.id).run();
  await env.DB.prepare("UPDATE account SET email = 'gone-' || email WHERE id = ?1").bind(account.id).run();
  const browser = new Browser({ SIGNUP_QUOTA: "lots" });
  await browser.ask("/console/sign-in", form);
  expect((await browser.ask("/console")).status).toBe(500);
  expect(logged(spy)).toContain("SIGNUP_QUOTA");
  expect(await accountByEmail(env.DB, form.email)).toBeUndefined();
});

test.each<[string, Partial<ConsoleEnv>, string]>([
  ["SIGNUP", { SIGNUP: "yes" }, "/console/sign-up"],
  ["SIGNUP", { SIGNUP: "" }, "/console/sign-in"],
  ["ASSET_BASE_URL", { ASSET_BASE_URL: "assets" }, "/console/sign-in"],
  ["MAIL_FROM", { MAIL: {} as SendEmail, MAIL_FROM: "" }, "/console/forgot"],
])("a wrong %s: %j", async (name, vars, path) => {
  const spy = vi.spyOn(console, "error");
  const response = await new Browser(vars).ask(path);
  expect(response.status).toBe(500);
  expect(await response.text()).not.toContain(name);
  expect(logged(spy)).toContain(`the variable ${name} must be`);
});

test.each<Partial<ConsoleEnv>>([{ AUTH_SECRET: "" }, { MAIL: {} as SendEmail, MAIL_FROM: "" }])(
  "with %j no user is created",
  async (vars) => {
    const form = person();
    const spy = vi.spyOn(console, "error");
    expect((await new Browser(vars).ask("/console/sign-up", form)).status).toBe(500);
    expect(logged(spy)).toMatch(/AUTH_SECRET|MAIL_FROM/);
    // Nothing was stored: with the variable set the same user can sign up.
    expect((await new Browser().ask("/console/sign-up", form)).status).toBe(303);
  },
);

test("with a wrong BALANCE_UNIT no amounts are shown", async () => {
  const browser = new Browser({ BALANCE_UNIT: "EUR" });
  const spy = vi.spyOn(console, "error");
  await browser.signUp();
  expect((await browser.ask("/console")).status).toBe(500);
  expect(logged(spy)).toContain("BALANCE_UNIT must be one of USD, CNY, TOKENS");
});

/** Single sign-on at a real OpenID provider: who gets in, which roles groups give, which tokens are refused, and signing out. */

import { env } from "cloudflare:workers";
import { beforeEach, expect, inject, test, vi } from "vitest";
import { insertAccount } from "../../../src/db/accounts.ts";
import { openWallet } from "../../../src/db/ledger.ts";
import { call } from "../../support/gateway.ts";
import type { ProviderUser } from "../openid-provider.ts";
import { Browser, refusedSignIns } from "../support.ts";

// The provider's clock is the machine's.
beforeEach(() => void vi.useRealTimers());

const issuer = inject("openid");
const client = { OIDC_CLIENT_ID: "gateway", OIDC_CLIENT_SECRET: "secret-of-the-gateway-at-the-provider" };
const settings = { ...client, OIDC_ISSUER: issuer, SIGNUP: "closed" };
type Vars = Partial<ConsoleEnv>;
const openBrowser = (vars: Vars = {}) => new Browser({ ...settings, ...vars });

const newUser = (more: Partial<ProviderUser> = {}): ProviderUser => {
  const sub = crypto.randomUUID();
  return { sub, email: `${sub}@example.com`, email_verified: true, name: "Ann", groups: [], ...more };
};

const firstOf = (sql: string, ...values: unknown[]) =>
  env.DB.prepare(sql)
    .bind(...values)
    .first<Record<string, unknown>>();
const membershipOf = ({ email }: ProviderUser, account: string) =>
  firstOf(
    "SELECT m.role, m.disabled, m.user_id AS userId FROM membership m JOIN auth_user u ON u.id = m.user_id WHERE u.email = ?1 AND m.account_id = ?2",
    email,
    account,
  );
const isKnown = async ({ email }: ProviderUser) => (await firstOf("SELECT 1 FROM auth_user WHERE email = ?1", email)) !== null;

/** An account of the operator, and a table of groups with roles in it. */
async function newTeam(): Promise<{ id: string; vars: Vars }> {
  const { account, statement } = insertAccount(env.DB, `${crypto.randomUUID()}@example.com`, "Team");
  await env.DB.batch([statement, openWallet(env.DB, account.id, 5_000_000)]);
  const of = (role: string) => ({ account: account.id, role });
  return { id: account.id, vars: { OIDC_GROUPS: { leads: of("admin"), everyone: of("member"), owners: of("owner") } } };
}

/** Goes to the provider as a browser does: the address that the sign-in page leads to. */
async function leave(browser: Browser, to = "/console/keys"): Promise<URL> {
  const away = await browser.ask("/console/login/oidc", { to });
  expect(away.status).toBe(303);
  return new URL(away.headers.get("location")!);
}

/** Signs in at the provider: the address with which it returns. */
async function atProvider(away: URL, user: ProviderUser): Promise<string> {
  const cookies = new Map([
    ["user", new TextEncoder().encode(JSON.stringify(user)).toBase64({ alphabet: "base64url", omitPadding: true })],
  ]);
  for (let url = away.href, turn = 0; turn < 6; turn++) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const answer = await fetch(url, { redirect: "manual", headers: { cookie } });
    for (const line of answer.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value) cookies.set(name, value);
    }
    const next = answer.headers.get("location");
    if (next === null) throw new Error(`${answer.status} ${await answer.text()}`);
    url = new URL(next, url).href;
    if (url.startsWith("https://gateway.example/")) return url.slice("https://gateway.example".length);
  }
  throw new Error("the provider does not return");
}

/** The whole way: the path of the last redirect. */
async function signIn(browser: Browser, user: ProviderUser): Promise<string> {
  const back = await browser.ask(await atProvider(await leave(browser), user));
  expect(back.status).toBe(303);
  return back.headers.get("location")!;
}

test("signing in leads to the provider, with challenge and nonce, and back to the page that the user wanted; no token is stored", async () => {
  const browser = openBrowser({ SIGNUP: "open" });
  const page = await browser.ask("/console/sign-in");
  expect(page.headers.get("content-security-policy")).toContain(`form-action 'self' ${issuer};`);
  expect(await page.text()).toContain("Single sign-on</button>");
  const away = await leave(browser);
  expect(away.origin).toBe(issuer);
  const asked = Object.fromEntries(away.searchParams);
  expect(asked).toMatchObject({
    client_id: "gateway",
    redirect_uri: "https://gateway.example/console/auth/callback/oidc",
    response_type: "code",
    scope: "openid profile email",
    code_challenge_method: "S256",
    code_challenge: expect.stringMatching(/^[\w-]{43}$/),
    nonce: expect.any(String),
  });
  const user = newUser();
  const back = await browser.ask(await atProvider(away, user));
  expect(back.headers.get("location")).toBe("/console/keys");
  expect(await browser.read("/console")).toContain("$5.00");
  const kept = await firstOf("SELECT a.* FROM auth_account a JOIN auth_user u ON u.id = a.userId WHERE u.email = ?1", user.email);
  expect(kept).toMatchObject({ providerId: "oidc", accountId: user.sub, accessToken: null, idToken: null, refreshToken: null });
});

test("the first sign-in makes no user and no account, unless SIGNUP or a group allows it", async () => {
  const { id, vars } = await newTeam();
  const stranger = newUser();
  const closed = openBrowser(vars);
  const to = await signIn(closed, stranger);
  expect(to).toBe("/console/sign-in?error=signup_disabled");
  expect(await closed.read(to)).toContain("New accounts are opened by the operator.");
  expect((await closed.ask("/console")).status).toBe(303);
  expect(await isKnown(stranger)).toBe(false);
  expect(await signIn(openBrowser({ ...vars, SIGNUP: "invite" }), stranger)).toContain("error=signup_disabled");
  expect(await isKnown(stranger)).toBe(false);

  const member = newUser({ groups: ["everyone", "unknown"] });
  const browser = openBrowser(vars);
  expect(await signIn(browser, member)).toBe("/console/keys");
  expect(await membershipOf(member, id)).toMatchObject({ role: "member", disabled: 0 });
  expect(await firstOf("SELECT count(*) AS n FROM account WHERE email = ?1", member.email)).toEqual({ n: 0 });
  expect((await browser.ask("/console/keys")).status).toBe(200);
});

test("groups give the highest role at each sign-in, with an entry of the audit log; without a group keys and access end", async () => {
  const { id, vars } = await newTeam();
  const owner = newUser({ groups: ["owners"] });
  await signIn(openBrowser(vars), owner);
  const user = newUser({ groups: ["everyone", "leads"] });
  const browser = openBrowser(vars);
  await signIn(browser, user);
  expect(await membershipOf(user, id)).toMatchObject({ role: "admin" });
  expect((await browser.ask("/console/audit-log")).status).toBe(200);
  const made = await browser.ask("/console/keys", { name: "mine" });
  const [key = ""] = /sk-\w{49}/.exec(await made.text()) ?? [];
  expect((await call("/v1/balance", { key })).status).toBe(200);

  await signIn(openBrowser(vars), { ...user, groups: ["everyone"] });
  expect(await membershipOf(user, id)).toMatchObject({ role: "member" });
  expect((await browser.ask("/console/audit-log")).status, "the older session, too").toBe(403);
  await signIn(openBrowser(vars), { ...user, groups: [] });
  expect(await membershipOf(user, id)).toBeNull();
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 11_000 });
  expect((await call("/v1/balance", { key })).status).toBe(401);
  vi.useRealTimers();
  const { results } = await env.DB.prepare(
    "SELECT act, actor_id AS id, after FROM audit_log WHERE account_id = ?1 AND actor = 'system' ORDER BY at",
  )
    .bind(id)
    .run();
  expect(results).toMatchObject([
    { act: "member_joined", id: "oidc", after: '{"role":"owner"}' },
    { act: "member_joined", after: '{"role":"admin"}' },
    { act: "role_changed", after: '{"role":"member","disabled":false}' },
    { act: "member_removed" },
  ]);
});

test("a member whom an owner disabled stays disabled, the last owner stays, and accounts without a group are left alone", async () => {
  const { id, vars } = await newTeam();
  const owner = newUser({ groups: ["owners"] });
  await signIn(openBrowser(vars), owner);
  const user = newUser({ groups: ["everyone"] });
  await signIn(openBrowser(vars), user);
  await env.DB.prepare("UPDATE membership SET disabled = 1 WHERE user_id = ?1")
    .bind((await membershipOf(user, id))!["userId"])
    .run();
  await signIn(openBrowser(vars), { ...user, groups: ["leads"] });
  expect(await membershipOf(user, id)).toMatchObject({ role: "admin", disabled: 1 });
  await signIn(openBrowser(vars), { ...owner, groups: [] });
  expect(await membershipOf(owner, id)).toMatchObject({ role: "owner" });
  const other = await newTeam();
  await signIn(openBrowser(other.vars), { ...owner, groups: ["everyone"] });
  expect(await membershipOf(owner, id)).toMatchObject({ role: "owner" });
  expect(await membershipOf(owner, other.id)).toMatchObject({ role: "member" });
});

test.each([
  ["another issuer", { iss: "https://evil.example" }],
  ["another audience", { aud: "another-client" }],
  ["another nonce", { nonce: "of-another-sign-in" }],
  ["an old date", { iat: 1_700_000_000, exp: 1_700_003_600 }],
  ["an address that is not verified", { email_verified: false }],
  ["an address of a domain that Entra did not verify", { xms_edov: false }],
  ["groups that are too many for it", { _claim_names: { groups: "src1" } }],
  ["groups that Entra leaves out of it", { hasgroups: true }],
  ["no address", { email: null }],
])("an ID token with %s signs nobody in", async (_, forged) => {
  const browser = openBrowser({ SIGNUP: "open" });
  const user = newUser({ forged });
  delete user.groups;
  expect(await signIn(browser, user)).toMatch(/^\/console\/sign-in\?error=/);
  expect((await browser.ask("/console")).status).toBe(303);
  expect(await isKnown(user)).toBe(false);
});

test("a refused single sign-on is logged in the account of a user whom the provider's verified token names", async () => {
  const own = openBrowser({ SIGNUP: "open" });
  const email = await own.signUp();
  expect(await signIn(openBrowser({ SIGNUP: "open" }), newUser({ email }))).toContain("error=account_not_linked");
  await vi.waitFor(async () => expect(await refusedSignIns(email)).toEqual(["oidc"]));
  const user = newUser();
  const browser = openBrowser({ SIGNUP: "open" });
  expect(await signIn(browser, user)).toBe("/console/keys");
  await browser.read("/console");
  // Nothing that a forged token says counts.
  await signIn(openBrowser({ SIGNUP: "open" }), { ...user, forged: { aud: "another-client" } });
  delete user.groups;
  await signIn(openBrowser({ SIGNUP: "open" }), { ...user, forged: { _claim_names: { groups: "src1" } } });
  await vi.waitFor(async () => expect(await refusedSignIns(user.email!)).toEqual(["oidc"]));
});

test("a discovery that names another issuer than the operator is refused", async () => {
  const browser = openBrowser({ SIGNUP: "open", OIDC_ISSUER: `${issuer}/` });
  expect(await signIn(browser, newUser())).toMatch(/error=/);
});

test("a return works once, only in the browser that left, and only with its own state", async () => {
  const user = newUser();
  const browser = openBrowser({ SIGNUP: "open" });
  const back = await atProvider(await leave(browser), user);
  expect((await openBrowser({ SIGNUP: "open" }).ask(back)).headers.get("location")).toMatch(/error=/);
  expect((await browser.ask(back.replace(/state=[^&]+/, "state=guessed"))).headers.get("location")).toMatch(/error=/);
  expect(await isKnown(user)).toBe(false);
  const again = await atProvider(await leave(browser), user);
  expect((await browser.ask(again)).headers.get("location")).toBe("/console/keys");
  expect((await browser.ask(again)).headers.get("location"), "replayed").toMatch(/error=/);
});

test("signing out ends the session here, then at the provider, which returns to the sign-in page", async () => {
  const browser = openBrowser({ SIGNUP: "open" });
  await signIn(browser, newUser());
  const out = await browser.ask("/console/sign-out", {});
  const away = new URL(out.headers.get("location")!);
  expect(away.origin + away.pathname).toBe(`${issuer}/session/end`);
  expect(Object.fromEntries(away.searchParams)).toEqual({
    client_id: "gateway",
    post_logout_redirect_uri: "https://gateway.example/console/sign-in",
  });
  expect((await fetch(away)).status).toBe(200);
  expect((await browser.ask("/console")).status).toBe(303);
  const own = openBrowser({ SIGNUP: "open" });
  await own.signUp();
  expect((await own.ask("/console/sign-out", {})).headers.get("location")).toBe("/console/sign-in");
});

test("with SIGN_IN oidc every other way to sign in is refused, not only its form", async () => {
  const password = "correct horse battery";
  const before = openBrowser({ SIGNUP: "open" });
  const email = await before.signUp(password);
  const only = { SIGNUP: "open", SIGN_IN: "oidc", GITHUB_CLIENT_ID: "gh-id", GITHUB_CLIENT_SECRET: "gh-secret" };
  const browser = openBrowser(only);
  const page = await browser.read("/console/sign-in");
  expect(page).toContain("Single sign-on</button>");
  for (const part of ["password", "GitHub", "passkey"]) expect(page, part).not.toContain(part);
  const json = JSON.stringify({ response: {} });
  for (const [path, form] of [
    ["sign-in", { email, password }],
    ["sign-up", { name: "X", email: "x@example.com", password }],
    ["forgot", { email }],
    ["reset", { token: "x", password }],
    ["passkeys/options", "{}"],
    ["passkeys", json],
    ["login/github", {}],
    ["account/password", { old: password, new: "another horse battery" }],
    ["account/email", { email: "other@example.com" }],
    ["account/passkeys", json],
    ["account/passkeys/options", "{}"],
    ["account/logins/github/link", {}],
  ] as const)
    expect((await browser.ask(`/console/${path}`, form)).status, path).toBe(403);
  for (const path of ["sign-up", "forgot", "reset"]) expect((await browser.ask(`/console/${path}`)).status, path).toBe(303);
  expect((await browser.ask("/console/auth/callback/github?code=a&state=b")).status).toBe(404);
  const user = newUser();
  expect(await signIn(browser, user)).toBe("/console/keys");
  const account = await browser.read("/console/account");
  for (const part of ["account/password", "passkeys"]) expect(account, part).not.toContain(part);
});

test("the auth Worker itself refuses other ways to sign in", async () => {
  const { answerCalls } = await import("../../../src/console/auth/calls.ts");
  const auth = answerCalls(env, () => undefined);
  const only = { ...settings, SIGN_IN: "oidc", AUTH_SECRET: env.AUTH_SECRET!, origin: "https://gateway.example", language: "en" } as const;
  for (const path of [
    "sign-in/email",
    "sign-up/email",
    "passkey/verify-authentication",
    "change-password",
    "reset-password",
    "link-social",
  ]) {
    const request = new Request(`https://gateway.example/console/auth/${path}`, { method: "POST", body: "{}" });
    expect((await auth.handle(only, request)).status, path).toBe(403);
  }
});

test.each([
  ["OIDC_ISSUER", "http://example.com"],
  ["OIDC_CLIENT_SECRET", ""],
  ["SIGN_IN", "sso"],
  ["OIDC_GROUPS", '{"leads": {"account": "acc_1", "role": "boss"}}'],
])("a wrong %s is refused and named in the log", async (name, value) => {
  const logged = vi.spyOn(console, "error").mockImplementation(() => undefined);
  const browser = openBrowser({ SIGNUP: "open", [name]: value });
  const answer =
    name === "OIDC_GROUPS" ? await browser.ask(await atProvider(await leave(browser), newUser())) : await browser.ask("/console/sign-in");
  expect(answer.status === 500 || /error=/.test(answer.headers.get("location") ?? "")).toBe(true);
  expect(logged.mock.calls.flat().map(String).join()).toContain(name);
});

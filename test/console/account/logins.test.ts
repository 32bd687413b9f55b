/** Sign-in with GitHub and Google: who may sign in, which account is joined, and what is refused. */

import { env } from "cloudflare:workers";
import { beforeEach, expect, test, vi } from "vitest";
import { insertAccount, invite } from "../../../src/db/accounts.ts";
import { byTest } from "../../support/actor.ts";
import { openWallet } from "../../../src/db/ledger.ts";
import { Browser, refusedSignIns } from "../support.ts";

const secrets = {
  GITHUB_CLIENT_ID: "gh-id",
  GITHUB_CLIENT_SECRET: "gh-secret",
  GOOGLE_CLIENT_ID: "go-id",
  GOOGLE_CLIENT_SECRET: "go-secret",
};
type Vars = Partial<ConsoleEnv>;
const openBrowser = (vars: Vars = {}) => new Browser({ ...secrets, ...vars });

interface Profile {
  id: number;
  email: string;
  verified: boolean;
}
const newProfile = (more: Partial<Profile> = {}): Profile => ({
  id: Math.floor(Math.random() * 1e12),
  email: `elsewhere-${crypto.randomUUID()}@example.com`,
  verified: true,
  ...more,
});

/** The profile that the emulated provider returns, and the requests that it received. */
let there: Profile;
let asked: { url: string; body: string }[];

const base64url = (value: object) => new TextEncoder().encode(JSON.stringify(value)).toBase64({ alphabet: "base64url", omitPadding: true });

beforeEach(() => {
  asked = [];
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
    const request = new Request(input, init);
    asked.push({ url: request.url, body: new TextDecoder().decode(await request.arrayBuffer()) });
    switch (request.url) {
      case "https://github.com/login/oauth/access_token":
        return Response.json({ access_token: "gh-token", token_type: "bearer", scope: "read:user,user:email" });
      case "https://api.github.com/user":
        return Response.json({
          id: there.id,
          login: "octo",
          name: "Octo <i>Cat</i>",
          email: there.email,
          avatar_url: "https://a.example/x.png",
        });
      case "https://api.github.com/user/emails":
        return Response.json([{ email: there.email, primary: true, verified: there.verified }]);
      case "https://oauth2.googleapis.com/token": {
        const claims = { sub: String(there.id), email: there.email, email_verified: there.verified, name: "Gwen" };
        return Response.json({ access_token: "go-token", id_token: `${base64url({ alg: "RS256" })}.${base64url(claims)}.c2ln` });
      }
      default:
        return new Response(null, { status: 404 });
    }
  });
});

/** Signs in through the emulated provider: the path of the final redirect. */
async function signIn(browser: Browser, profile: Profile, login = "github", start = `/console/login/${login}`): Promise<string> {
  there = profile;
  const away = await browser.ask(start, { callbackURL: "https://evil.example/" });
  expect(away.status).toBe(303);
  const state = new URL(away.headers.get("location")!).searchParams.get("state")!;
  const back = await browser.ask(`/console/auth/callback/${login}?code=abc&state=${encodeURIComponent(state)}`);
  expect(back.status).toBe(303);
  return back.headers.get("location")!;
}

const isKnown = async (email: string) => (await env.DB.prepare("SELECT 1 FROM auth_user WHERE email = ?1").bind(email).first()) !== null;

/** An account opened by the operator with a quota of 1,000. */
async function operators(email: string): Promise<string> {
  const { account, statement } = insertAccount(env.DB, email, null);
  await env.DB.batch([statement, openWallet(env.DB, account.id, 1_000_000_000)]);
  return account.id;
}

test.each(["github", "google"])("a new user signs up with %s, and no token of the provider is stored", async (login) => {
  const browser = openBrowser();
  const profile = newProfile();
  expect(await signIn(browser, profile, login)).toBe("/console");
  expect(await browser.read("/console")).toContain("$5.00");
  const token = asked.find(({ url }) => url.includes("token"))!;
  expect(new URLSearchParams(token.body).get("redirect_uri")).toBe(`https://gateway.example/console/auth/callback/${login}`);
  expect(new URLSearchParams(token.body).get("code_verifier")).toMatch(/.{43,}/);
  const kept = await env.DB.prepare("SELECT a.*, u.image FROM auth_account a JOIN auth_user u ON u.id = a.userId WHERE u.email = ?1")
    .bind(profile.email)
    .first();
  expect(kept).toMatchObject({ providerId: login, accountId: String(profile.id), accessToken: null, idToken: null, image: null });
  const again = openBrowser({ SIGNUP: "closed" });
  expect(await signIn(again, profile, login)).toBe("/console");
  expect(await again.read("/console")).toContain("$5.00");
  const account = await again.read("/console/account");
  expect(account).toContain(login === "github" ? "Octo &lt;i&gt;Cat&lt;/i&gt;" : "Gwen");
  expect(account).not.toContain("<i>");
});

test("a new user of another provider needs an invitation where other users do", async () => {
  const profile = newProfile();
  const byInvitation = () => openBrowser({ SIGNUP: "invite" });
  const accountId = await operators(profile.email);
  const early = byInvitation();
  const to = await signIn(early, profile);
  expect(to).toBe("/console/sign-in?error=signup_disabled");
  expect(await early.read(to)).toContain("New accounts are opened by the operator.");
  expect((await early.ask("/console")).status).toBe(303);
  expect(await isKnown(profile.email)).toBe(false);
  await invite(env.DB, byTest, accountId);
  expect(await signIn(openBrowser({ SIGNUP: "closed" }), profile)).toContain("error=");
  expect(await signIn(byInvitation(), newProfile())).toContain("error=");
  expect(await isKnown(profile.email)).toBe(false);
  const invited = byInvitation();
  expect(await signIn(invited, profile)).toBe("/console");
  expect(await invited.read("/console")).toContain("$1,000.00");
  const { results } = await env.DB.prepare("SELECT 1 FROM invitation WHERE account_id = ?1").bind(accountId).run();
  expect(results).toEqual([]);
});

test("a verified address joins the account that the operator opened, an unverified one does not", async () => {
  const profile = newProfile({ verified: false });
  await operators(profile.email);
  expect(await signIn(openBrowser(), profile)).toBe("/console/sign-in?error=email_not_verified");
  expect(await isKnown(profile.email)).toBe(false);
  const browser = openBrowser();
  expect(await signIn(browser, { ...profile, verified: true })).toBe("/console");
  expect(await browser.read("/console")).toContain("$1,000.00");
});

test("a user with a password and an unverified address is neither joined by the address's owner nor joins the owner's account", async () => {
  const taker = openBrowser();
  const email = await taker.signUp();
  const owner = openBrowser();
  const to = await signIn(owner, newProfile({ email }));
  expect(to).toBe("/console/sign-in?error=account_not_linked");
  expect(await owner.read(to)).toContain("already exists");
  expect((await owner.ask("/console")).status).toBe(303);
  await vi.waitFor(async () => expect(await refusedSignIns(email)).toEqual(["github"]));
  await signIn(owner, newProfile({ email }), "google");
  await vi.waitFor(async () => expect(await refusedSignIns(email)).toEqual(["github", "google"]));
});

test("a login is linked and unlinked on the account page, only for the user's own address", async () => {
  const browser = openBrowser();
  const email = await browser.signUp();
  const link = "/console/account/logins/github/link";
  const wrong = await signIn(browser, newProfile(), "github", link);
  expect(wrong).toBe("/console/account?error=email_does_not_match");
  expect(await browser.read(wrong)).toContain("another e-mail address");
  const mine = newProfile({ email });
  expect(await signIn(browser, { ...mine, verified: false }, "github", link)).toContain("error=");
  expect(await signIn(browser, mine, "github", link)).toBe("/console/account");
  const other = openBrowser();
  expect(await signIn(other, mine)).toBe("/console");
  // Linking that is refused is no sign-in.
  expect(await refusedSignIns(email)).toEqual([]);
  expect((await other.ask("/console/account/logins/github/unlink", {})).headers.get("location")).toBe("/console/account?done=unlinked");
  expect((await other.ask("/console/account/logins/github/unlink", {})).status).toBe(404);
  expect((await other.ask("/console/account/logins/credential/unlink", {})).status).toBe(404);
});

test("the last login cannot be unlinked before there is a password, which only a recent session may set", async () => {
  const browser = openBrowser();
  const profile = newProfile();
  await signIn(browser, profile);
  const answer = await browser.ask("/console/account/logins/github/unlink", {});
  expect(answer.headers.get("location")).toBe("/console/account?problem=last_login");
  expect(await browser.read("/console/account?problem=last_login")).toContain("only way to sign in");
  const set = async (password: string) => (await browser.ask("/console/account/password", { new: password })).headers.get("location");
  const made = (at: number) =>
    env.DB.prepare("UPDATE auth_session SET createdAt = ?2 WHERE userId = (SELECT id FROM auth_user WHERE email = ?1)")
      .bind(profile.email, new Date(at).toISOString())
      .run();
  await made(Date.now() - 3_600_000);
  expect(await set("correct horse battery")).toBe("/console/account?problem=not_fresh");
  await made(Date.now());
  expect(await set("short")).toBe("/console/account?problem=bad_password");
  expect(await set("correct horse battery")).toBe("/console/account?done=password");
  expect(await set("another horse battery")).toBe("/console/account?problem=bad_password");
  expect((await browser.ask("/console/account/logins/github/unlink", {})).headers.get("location")).toBe("/console/account?done=unlinked");
  const form = { email: profile.email, password: "correct horse battery" };
  expect((await openBrowser().ask("/console/sign-in", form)).status).toBe(303);
});

test("the return from the provider works once, in the same browser", async () => {
  there = newProfile();
  const browser = openBrowser();
  const away = await browser.ask("/console/login/github", {});
  const state = new URL(away.headers.get("location")!).searchParams.get("state")!;
  const callback = `/console/auth/callback/github?code=abc&state=${state}`;
  expect((await openBrowser().ask(callback)).headers.get("location")).toMatch(/^\/console\/sign-in\?error=/);
  expect(asked).toEqual([]);
  expect((await browser.ask("/console/auth/callback/github?code=abc&state=other")).headers.get("location")).toMatch(/error=/);
  const lie = "/console/auth/callback/github?error=x&error_description=Call+0900&state=other";
  expect(await browser.read((await browser.ask(lie)).headers.get("location")!)).not.toContain("0900");
});

test("no other endpoint of the library is reachable, and no login that is not configured", async () => {
  const browser = openBrowser({ GOOGLE_CLIENT_SECRET: "" });
  for (const path of ["get-session", "callback/google?code=a&state=b", "callback/credential", "passkey/generate-authenticate-options"])
    expect((await browser.ask(`/console/auth/${path}`)).status).toBe(404);
  for (const path of ["auth/sign-up/email", "auth/sign-in/social", "auth/callback/github", "login/google"])
    expect((await browser.ask(`/console/${path}`, { provider: "github" })).status).toBe(404);
  const page = await browser.ask("/console/sign-in");
  expect(page.headers.get("content-security-policy")).toContain("form-action 'self' https://github.com;");
  const text = await page.text();
  expect(text).toContain("GitHub</button>");
  expect(text).not.toContain("Google");
});

test("what is stored while a browser is at the provider is no longer than an address", async () => {
  const longest = async () => (await env.DB.prepare("SELECT max(length(value)) AS most FROM auth_verification").first<number>("most")) ?? 0;
  const browser = openBrowser();
  const path = `/console/tasks?q=${"a".repeat(4_000)}`;
  expect((await browser.ask("/console/login/github", { to: path })).status).toBe(303);
  expect(await longest()).toBeGreaterThan(4_000);
  expect((await browser.ask("/console/login/github", { to: `/console/tasks?q=${"a".repeat(60_000)}` })).status).toBe(303);
  expect(await longest()).toBeLessThan(10_000);
});

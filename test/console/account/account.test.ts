/** The account page: passwords, sessions, forgotten passwords, verified addresses. */

import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { insertAccount } from "../../../src/db/accounts.ts";
import { openWallet } from "../../../src/db/ledger.ts";
import { holdTime } from "../../support/gateway.ts";
import { Browser, type Email, mailbox, signedUp } from "../support.ts";

holdTime();

const password = "correct horse battery";

/** A signed-in browser of a new user. */
async function signedIn(email: string, vars: Partial<ConsoleEnv> = {}, headers: Record<string, string> = {}): Promise<Browser> {
  const browser = new Browser(vars);
  expect((await browser.ask("/console/sign-in", { email, password }, undefined, headers)).status).toBe(303);
  return browser;
}

const isIn = async (browser: Browser) => (await browser.ask("/console/account")).status === 200;

/** The path of the link in an e-mail. */
const linkIn = (sent: Email | undefined) => new URL(/https:\S+/.exec(sent!.text)![0]);

/** Opens the link of an e-mail: a visitor signs in there with the password, a signed-in user presses the button. */
async function confirm(browser: Browser, sent: Email | undefined): Promise<Response> {
  const { pathname, search, searchParams } = linkIn(sent);
  const to = (await browser.ask(pathname + search)).headers.get("location");
  if (to === null) return browser.ask(pathname, { token: searchParams.get("token")! });
  const kept = new URL(to, "https://gateway.example").searchParams.get("to") ?? "";
  expect(kept).toBe(pathname + search);
  expect(await browser.read(to)).toContain(`value="${sent!.to}"`);
  return browser.ask("/console/sign-in", { email: sent!.to, password, to: kept });
}

test("the page shows the user's data, escaped, and redirects visitors to sign in", async () => {
  const { browser, email } = await signedUp();
  const page = await browser.read("/console/account?done=%3Cscript%3E&problem=toString&error=%3Cscript%3E");
  expect(page).toContain(email);
  expect(page).toContain("A &lt;b&gt;person&lt;/b&gt;");
  expect(page).not.toContain("<b>");
  expect(page).not.toMatch(/<script>|function/);
  expect((await new Browser().ask("/console/account")).headers.get("location")).toBe("/console/sign-in?to=%2Fconsole%2Faccount");
});

test("a changed password ends all other sessions and works for the next sign-in", async () => {
  const { browser: first, email } = await signedUp();
  const other = await signedIn(email);
  const form = { old: password, new: "another horse battery" };
  for (const wrong of [
    { ...form, old: "wrong horse battery" },
    { ...form, new: "short" },
  ]) {
    const answer = await first.ask("/console/account/password", wrong);
    expect(answer.headers.get("location")).toBe("/console/account?problem=bad_password");
  }
  expect(await isIn(other)).toBe(true);
  const before = [...first.cookies].find(([name]) => name.includes("session_token"))![1];
  expect((await first.ask("/console/account/password", form)).headers.get("location")).toBe("/console/account?done=password");
  expect(first.cookies.get("__Secure-gateway.session_token")).not.toBe(before);
  expect(await isIn(first)).toBe(true);
  expect(await isIn(other)).toBe(false);
  expect((await new Browser().ask("/console/sign-in", { email, password })).status).toBe(401);
});

test("after five wrong guesses of the old password in a minute further attempts are refused", async () => {
  const { browser } = await signedUp();
  const outcomes: (string | null)[] = [];
  for (let guess = 0; guess < 6; guess++)
    outcomes.push((await browser.ask("/console/account/password", { old: "wrong horse battery", new: "short" })).headers.get("location"));
  expect(outcomes.slice(0, 5).every((outcome) => outcome?.endsWith("bad_password"))).toBe(true);
  expect(outcomes[5]).toBe("/console/account?problem=attempts");
});

test("sessions are listed without their secrets, and ended one by one or all; sessions of other users are not affected", async () => {
  const { browser: first, email } = await signedUp();
  const agent = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
  const other = await signedIn(email, {}, { "user-agent": agent });
  const third = await signedIn(email, {}, { "user-agent": "<script>alert(1)</script>" });
  const page = await first.read("/console/account");
  expect(page).toContain("Firefox, Linux");
  expect(page).toContain("&lt;script&gt;alert(1)");
  expect(page.split("This session")).toHaveLength(2);
  const { results } = await env.DB.prepare(
    "SELECT s.id, s.token, s.userAgent FROM auth_session s JOIN auth_user u ON u.id = s.userId WHERE u.email = ?1",
  )
    .bind(email)
    .run<{ id: string; token: string; userAgent: string }>();
  for (const { token } of results) expect(page).not.toContain(token);
  const { id } = results.find(({ userAgent }) => userAgent === agent)!;
  const { browser: stranger } = await signedUp();
  expect((await stranger.ask(`/console/account/sessions/${id}/end`, {})).status).toBe(404);
  expect(await isIn(other)).toBe(true);
  expect((await first.ask(`/console/account/sessions/${id}/end`, {})).status).toBe(303);
  expect(await isIn(other)).toBe(false);
  expect(await isIn(third)).toBe(true);
  const kept = [...first.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  expect((await first.ask("/console/account/sessions/end", {})).headers.get("location")).toBe("/console/sign-in");
  expect(await isIn(third)).toBe(false);
  expect((await first.ask("/console/account", undefined, null, { cookie: kept })).status).toBe(303);
  expect(await isIn(stranger)).toBe(true);
});

test("signing in never continues a session that another site planted in the browser", async () => {
  const { browser, email } = await signedUp();
  const planted = browser.cookies.get("__Secure-gateway.session_token")!;
  const cookie = `__Secure-gateway.session_token=${planted}`;
  for (const before of [cookie, "__Secure-gateway.session_token=made-up.c2ln"]) {
    const victim = new Browser();
    const answer = await victim.ask("/console/sign-in", { email, password }, undefined, { cookie: before });
    expect(answer.status).toBe(303);
    expect([planted, "made-up.c2ln"]).not.toContain(victim.cookies.get("__Secure-gateway.session_token"));
  }
});

test("external return addresses are not followed after signing in or out", async () => {
  const { browser, email } = await signedUp();
  const evil = "https://evil.example/";
  const more = { callbackURL: evil, redirectTo: evil, to: evil, next: evil };
  const query = new URLSearchParams(more).toString();
  for (const [path, form, to] of [
    ["/console/sign-in", { email, password }, "/console"],
    ["/console/sign-out", {}, "/console/sign-in"],
  ] as const)
    expect((await browser.ask(`${path}?${query}`, { ...form, ...more })).headers.get("location")).toBe(to);
  expect((await browser.ask(`/console/language?${query}`)).headers.get("location")).toBe("/console");
});

test("a forgotten password is reset by an e-mailed link, once, and all sessions end", async () => {
  const { emails, vars } = mailbox();
  const { browser: first, email } = await signedUp();
  const known = await new Browser(vars).ask("/console/forgot", { email });
  const unknown = await new Browser(vars).ask("/console/forgot", { email: `no-${email}` });
  expect(known.status).toBe(200);
  expect(await known.text()).toBe(await unknown.text());
  expect(emails.map(({ to, from }) => ({ to, from }))).toEqual([{ to: email, from: "gateway@example.com" }]);
  const link = linkIn(emails[0]);
  expect(link.origin + link.pathname).toBe("https://gateway.example/console/reset");
  const token = link.searchParams.get("token")!;
  const browser = new Browser(vars);
  expect(await browser.read(link.pathname + link.search)).toContain(token);
  expect((await browser.ask("/console/reset", { token, password: "short" })).status).toBe(400);
  const form = { token, password: "another horse battery" };
  expect((await browser.ask("/console/reset", form)).headers.get("location")).toBe("/console/sign-in?done=reset");
  expect((await browser.ask("/console/reset", { token, password: "a third horse battery" })).status).toBe(400);
  expect(await isIn(first)).toBe(false);
  expect((await new Browser().ask("/console/sign-in", { email, password })).status).toBe(401);
  expect((await new Browser().ask("/console/sign-in", { email, password: form.password })).status).toBe(303);
});

test("an e-mail greets a user whose address is verified, and its link is a button; a stranger's words are in none", async () => {
  const { emails, vars } = mailbox();
  const { browser, email } = await signedUp(vars);
  await new Browser(vars).ask("/console/forgot", { email });
  for (const { text, html } of emails) expect(text + html).not.toContain("person");
  await confirm(browser, emails[0]);
  await new Browser(vars).ask("/console/forgot", { email }, undefined, { "accept-language": "ja" });
  const { subject, text, html } = emails.at(-1)!;
  expect([subject, text.split("\n")[0]]).toEqual(["新しいパスワードの設定", "A <b>person</b> 様"]);
  expect(html).toContain('<html lang="ja">');
  expect(html).toContain("A &lt;b&gt;person&lt;/b&gt; 様");
  const [, href = "", label] = /<a href="([^"]+)"[^>]*>([^<]+)<\/a>/.exec(html)!;
  expect([href.replaceAll("&amp;", "&"), label]).toEqual([linkIn(emails.at(-1)).href, subject]);
});

test("a new password and a new address end the links that were mailed before", async () => {
  const { emails, vars } = mailbox();
  const { browser, email } = await signedUp(vars);
  await confirm(browser, emails[0]);
  const askLink = async (address: string) => {
    await new Browser(vars).ask("/console/forgot", { email: address });
    expect(emails.at(-1)!.to).toBe(address);
    return linkIn(emails.at(-1)).searchParams.get("token")!;
  };
  const reset = async (token: string) =>
    (await new Browser(vars).ask("/console/reset", { token, password: "a stranger's horse" })).headers.get("location");
  const [first, second] = [await askLink(email), await askLink(email)];
  const form = { token: second, password: "another horse battery" };
  expect((await new Browser(vars).ask("/console/reset", form)).status).toBe(303);
  expect(await reset(first)).toBeNull();
  expect((await browser.ask("/console/sign-in", { email, password: form.password })).status).toBe(303);
  const third = await askLink(email);
  const change = { old: form.password, new: "a third horse battery" };
  expect((await browser.ask("/console/account/password", change)).headers.get("location")).toBe("/console/account?done=password");
  expect(await reset(third)).toBeNull();
  const fourth = await askLink(email);
  const moved = `moved-${crypto.randomUUID()}@example.com`;
  await browser.ask("/console/account/email", { email: moved });
  const { to, text } = emails.at(-1)!;
  expect(to).toBe(moved);
  // The new address may be a stranger's, who gets no words of the user.
  expect(text).not.toContain("person");
  await confirm(browser, emails.at(-1));
  expect(await reset(fourth)).toBeNull();
  expect(await reset(await askLink(moved))).toBe("/console/sign-in?done=reset");
});

test("an e-mail about a new password goes to the user's address, one about a new address to the old one, in the user's language, without text of others", async () => {
  const { emails, vars } = mailbox();
  // Joined before e-mail could be sent.
  const email = await new Browser().signUp();
  const browser = await signedIn(email, vars);
  // An address that was never verified gets no e-mail.
  const form = { old: "a first horse battery", new: "another horse battery" };
  await browser.ask("/console/account/password", { old: password, new: form.old });
  await browser.ask("/console/confirm/send", {});
  await confirm(browser, emails[0]);
  const told = () => emails.slice(1).map(({ to, subject }) => [to, subject]);
  expect(told()).toEqual([]);
  await browser.ask("/console/account/password", { old: "wrong horse battery", new: "a third horse battery" });
  expect(told()).toEqual([]);
  expect((await browser.ask("/console/account/password", { old: form.old, new: form.new })).status).toBe(303);
  expect(told()).toEqual([[email, "A new password was set"]]);
  expect(emails.at(-1)!.text).toContain(email);
  expect(linkIn(emails.at(-1)).href).toBe("https://gateway.example/console/forgot");

  await new Browser(vars).ask("/console/forgot", { email });
  const reset = { token: linkIn(emails.at(-1)).searchParams.get("token")!, password: "a third horse battery" };
  await new Browser(vars).ask("/console/reset", reset, undefined, { "accept-language": "ja" });
  expect(emails.at(-1)).toMatchObject({ to: email, subject: "新しいパスワードが設定されました" });

  await browser.ask("/console/sign-in", { email, password: reset.password });
  const moved = `some-words-${crypto.randomUUID()}@example.com`;
  await browser.ask("/console/account/email", { email: moved });
  await confirm(browser, emails.at(-1));
  const { to, subject, text } = emails.at(-1)!;
  expect([to, subject]).toEqual([email, "Your e-mail address was replaced"]);
  expect(text).toContain(`This one, ${email}, can no longer sign in.`);
  for (const { text: all } of emails.filter((sent) => sent.to === email)) expect(all).not.toContain("some-words");
  expect(emails).toHaveLength(6);
});

test("a first password beside a linked login causes an e-mail to the user's address", async () => {
  const { emails, vars } = mailbox();
  const { browser, email } = await signedUp(vars);
  await confirm(browser, emails[0]);
  await env.DB.prepare("UPDATE auth_account SET password = NULL WHERE userId = (SELECT id FROM auth_user WHERE email = ?1)")
    .bind(email)
    .run();
  expect((await browser.ask("/console/account/password", { new: "another horse battery" })).headers.get("location")).toContain("done=");
  expect(emails.slice(1).map(({ to, subject }) => [to, subject])).toEqual([[email, "A new password was set"]]);
});

test("one address gets five links of a kind an hour, from however many networks they are asked for", async () => {
  const { emails, vars } = mailbox();
  const { email } = await signedUp(vars);
  const ask = (address: string) => new Browser(vars).ask("/console/forgot", { email: address });
  for (let attempt = 0; attempt < 5; attempt++) await ask(email);
  expect(emails).toHaveLength(6);
  const [known, unknown] = [await ask(email), await ask(`no-${email}`)];
  expect([known.status, await known.text()]).toEqual([200, await unknown.text()]);
  expect(emails).toHaveLength(6);
});

test("reset e-mails are limited to five an hour", async () => {
  const { vars } = mailbox();
  const browser = new Browser(vars);
  const statuses: number[] = [];
  for (let attempt = 0; attempt < 6; attempt++)
    statuses.push((await browser.ask("/console/forgot", { email: `nobody-${attempt}@example.com` })).status);
  expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
});

test("without e-mail the page refers to the operator, and no link is in the log", async () => {
  const { browser, email } = await signedUp();
  const lines = vi.spyOn(console, "log");
  expect(await browser.read("/console/forgot")).toContain("Ask the operator");
  expect(await (await browser.ask("/console/forgot", { email })).text()).toContain("Ask the operator");
  expect(lines.mock.calls.flat().join()).not.toMatch(/token|reset\?/);
});

test("an e-mail that cannot be sent is logged without its content", async () => {
  const MAIL = { send: () => Promise.reject(Object.assign(new Error("to x@example.com"), { code: "E_SENDER_NOT_VERIFIED" })) };
  const { email } = await signedUp();
  const lines = vi.spyOn(console, "error");
  const vars = { MAIL: MAIL as unknown as SendEmail, MAIL_FROM: "gateway@example.com" };
  expect((await new Browser(vars).ask("/console/forgot", { email })).status).toBe(200);
  const logged = lines.mock.calls.flat().join();
  expect(logged).toContain("E_SENDER_NOT_VERIFIED");
  expect(logged).not.toContain("example.com");
});

test("if e-mail can be sent, an account is created when its address is verified, by the password and a button", async () => {
  const { emails, vars } = mailbox();
  const { browser, email } = await signedUp(vars);
  const link = linkIn(emails[0]);
  // Before that the password opens nothing, also for one who has chosen it for another person's address.
  const refused = await browser.ask("/console/sign-in", { email, password });
  const wrong = await browser.ask("/console/sign-in", { email, password: "wrong horse battery" });
  expect([refused.status, wrong.status, await refused.text()]).toEqual([401, 401, await wrong.text()]);
  expect((await browser.ask("/console")).headers.get("location")).toContain("/console/sign-in");
  const other = await new Browser(vars).signUp();
  const ask = async (to: string, given = password, by = email) => {
    const answer = await new Browser(vars).ask("/console/sign-in", { email: by, password: given, to });
    return [answer.status, (await answer.text()).replaceAll(/(name="to" value|data-to)="[^"]*"|\?to=[^"]*"/g, "").replaceAll(by, email)];
  };
  const to = link.pathname + link.search;
  const refusals = [
    await ask(to, "wrong horse battery"),
    await ask(`${to}x`),
    // A link confirms no other address than that of the password.
    await ask(to, password, other),
    await ask(to.replace("confirm", "account")),
  ];
  expect(refusals).toEqual(refusals.map(() => [401, refusals[0]?.[1]]));
  expect((await confirm(browser, emails[0])).headers.get("location")).toBe("/console");
  expect(await browser.read("/console")).toContain("$5.00");
  // Opened again, in a browser without a session, it signs in.
  const again = new Browser(vars);
  expect((await again.ask((await confirm(again, emails[0])).headers.get("location")!)).headers.get("location")).toBe("/console");
});

test("a new user's link works in a browser in which another user is signed in", async () => {
  const { emails, vars } = mailbox();
  const { browser, email: first } = await signedUp(vars);
  await confirm(browser, emails[0]);
  const second = await browser.signUp();
  expect(await browser.read("/console/account")).toContain(first);
  expect((await confirm(browser, emails[1])).headers.get("location")).toBe("/console");
  expect(await browser.read("/console/account")).toContain(second);
});

test("signing up does not tell who has an account: the answers are the same, and the user gets another e-mail", async () => {
  const { emails, vars } = mailbox();
  const email = await new Browser().signUp();
  const signUp = (address: string) =>
    new Browser(vars).ask("/console/sign-up", { name: "some-words", email: address, password: "a stranger's horse" });
  const fresh = `no-${email}`;
  const [known, unknown] = [await signUp(email), await signUp(fresh)];
  expect([known.status, known.headers.getSetCookie()]).toEqual([unknown.status, unknown.headers.getSetCookie()]);
  expect(await known.text()).toBe((await unknown.text()).replaceAll(fresh, email));
  expect(emails.map(({ to, subject }) => [to, subject])).toEqual([
    [email, "You already have an account"],
    [fresh, "Confirm your e-mail address"],
  ]);
  expect(linkIn(emails[0]).href).toBe("https://gateway.example/console/forgot");
  for (const { text } of emails) expect(text).not.toContain("some-words");
  // Nor does signing in with the password that was just chosen, or the time that it takes: the queries are the same.
  const signIn = async (address: string) => {
    const asked: string[] = [];
    const prepare = (sql: string) => (asked.push(sql), env.DB.prepare(sql));
    const DB = new Proxy(env.DB, { get: (db, name) => (name === "prepare" ? prepare : Reflect.get(db, name).bind(db)) });
    const answer = await new Browser({ ...vars, DB }).ask("/console/sign-in", { email: address, password: "a stranger's horse" });
    const queries = asked.filter((sql) => sql.includes("emailVerified = 0")).length;
    return [answer.status, queries, (await answer.text()).replaceAll(fresh, email)];
  };
  expect(await signIn(email)).toEqual(await signIn(fresh));
  const twice = await signUp(fresh);
  expect(await twice.text()).toBe((await signUp(`new-${email}`).then((answer) => answer.text())).replaceAll(`new-${email}`, fresh));
  expect(emails.at(-2)).toMatchObject({ to: fresh, subject: "You already have an account" });
  expect(await isIn(await signedIn(email))).toBe(true);
});

test("a form to sign up that is sent twice at once has the same answer twice", async () => {
  const { vars } = mailbox();
  const form = { name: "Ann", email: `twice-${crypto.randomUUID()}@example.com`, password };
  const answers = await Promise.all([1, 2].map(() => new Browser(vars).ask("/console/sign-up", form)));
  const [first, second] = await Promise.all(answers.map(async (answer) => [answer.status, await answer.text()]));
  expect(first).toEqual([200, expect.stringContaining("A link was sent to")]);
  expect(second).toEqual(first);
});

test("the owner of an address with which a stranger signed up sets a password by e-mail, which ends the stranger's sessions", async () => {
  const { emails, vars } = mailbox();
  const email = `victim-${crypto.randomUUID()}@example.com`;
  const stranger = new Browser(vars);
  await stranger.ask("/console/sign-up", { name: "S", email, password });
  const owner = new Browser(vars);
  const form = { name: "O", email, password: "the owner's horse" };
  expect((await owner.ask("/console/sign-up", form)).status).toBe(200);
  // The stranger's link in the owner's mailbox does not take the owner's password.
  const { pathname, search } = linkIn(emails[0]);
  expect((await owner.ask("/console/sign-in", { ...form, to: pathname + search })).status).toBe(401);
  await owner.ask("/console/forgot", { email });
  const reset = { token: linkIn(emails.at(-1)).searchParams.get("token")!, password: form.password };
  expect((await owner.ask("/console/reset", reset)).status).toBe(303);
  expect((await owner.ask("/console/sign-in", form)).status).toBe(303);
  expect(await owner.read("/console")).toContain("$5.00");
  expect((await confirm(stranger, emails[0])).status).toBe(401);
  expect((await new Browser(vars).ask("/console/sign-in", { email, password })).status).toBe(401);
});

test("a user who verifies the address of an account that the operator opened becomes its member", async () => {
  const { emails, vars } = mailbox();
  const email = `operator-${crypto.randomUUID()}@example.com`;
  const { account, statement } = insertAccount(env.DB, email, null);
  await env.DB.batch([statement, openWallet(env.DB, account.id, 1_000_000_000)]);
  const browser = new Browser(vars);
  await browser.ask("/console/sign-up", { name: "Ann", email, password });
  expect(emails).toHaveLength(1);
  await confirm(browser, emails[0]);
  expect(await browser.read("/console")).toContain("$1,000.00");
});

test("a changed name is shown on the page and to the operator", async () => {
  const { browser, email } = await signedUp();
  expect((await browser.ask("/console/account/name", { name: " " })).headers.get("location")).toBe("/console/account?problem=name");
  expect((await browser.ask("/console/account/name", { name: "x".repeat(201) })).headers.get("location")).toBe(
    "/console/account?problem=name",
  );
  expect((await browser.ask("/console/account/name", { name: "Ann <Example>" })).headers.get("location")).toBe(
    "/console/account?done=name",
  );
  expect(await browser.read("/console/account")).toContain('value="Ann &lt;Example&gt;"');
  const row = await env.DB.prepare("SELECT name FROM account WHERE email = ?1").bind(email).first<{ name: string }>();
  expect(row!.name).toBe("Ann <Example>");
});

test("an address is changed by the link sent to the new address, in the same session, and the account's address changes too", async () => {
  const { emails, vars } = mailbox();
  const { browser, email } = await signedUp(vars);
  await confirm(browser, emails[0]);
  const moved = `moved-${crypto.randomUUID()}@example.com`;
  const ask = async (to: string) => (await browser.ask("/console/account/email", { email: to })).headers.get("location");
  expect(await ask(email)).toBe("/console/account?problem=email_same");
  expect(await ask("no address")).toBe("/console/account?problem=email");
  expect(await ask(moved)).toBe("/console/account?done=email_sent");
  expect(emails.at(-1)!.to).toBe(moved);
  const findAccount = (address: string) => env.DB.prepare("SELECT id FROM account WHERE email = ?1").bind(address).first<{ id: string }>();
  const account = await findAccount(email);
  expect(account).not.toBeNull();
  const link = linkIn(emails.at(-1));
  const token = link.searchParams.get("token")!;
  // Neither the request nor the link in another browser changes anything.
  const { browser: stranger } = await signedUp(vars);
  await confirm(stranger, emails.at(-1));
  expect((await stranger.ask("/console/confirm", { token })).status).toBe(400);
  const page = await browser.read(link.pathname + link.search);
  for (const address of [email, moved]) expect(page).toContain(address);
  expect(await findAccount(moved)).toBeNull();
  expect((await browser.ask("/console/confirm", { token })).headers.get("location")).toBe("/console/account?done=email");
  expect(await findAccount(moved)).toEqual(account);
  expect((await new Browser(vars).ask("/console/sign-in", { email, password })).status).toBe(401);
  expect((await new Browser(vars).ask("/console/sign-in", { email: moved, password })).status).toBe(303);
  // After a crash in between, the same link completes the change.
  await env.DB.prepare("UPDATE account SET email = ?2 WHERE id = ?1").bind(account!.id, email).run();
  expect((await browser.ask("/console/confirm", { token })).headers.get("location")).toBe("/console/account?done=email");
  expect(await findAccount(moved)).toEqual(account);
});

test("a user whose link for a new address has expired, or whose new address another user has, sees a page that says so", async () => {
  const { emails, vars } = mailbox();
  const moved = `moved-${crypto.randomUUID()}@example.com`;
  const movers: [Browser, token: string][] = [];
  for (let count = 0; count < 2; count++) {
    const { browser } = await signedUp(vars);
    await confirm(browser, emails.at(-1));
    await browser.ask("/console/account/email", { email: moved });
    movers.push([browser, linkIn(emails.at(-1)).searchParams.get("token")!]);
  }
  const answers = await Promise.all(movers.map(([browser, token]) => browser.ask("/console/confirm", { token })));
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([303, 400]);
  const { browser } = await signedUp(vars);
  await confirm(browser, emails.at(-1));
  await browser.ask("/console/account/email", { email: `late-${moved}` });
  const token = linkIn(emails.at(-1)).searchParams.get("token")!;
  vi.setSystemTime(Date.now() + 3_601_000);
  const late = await browser.ask("/console/confirm", { token });
  expect([late.status, await late.text()]).toEqual([400, expect.stringContaining("The link has expired")]);
});

test("an address that belongs to another account stays with that account, whoever verifies it", async () => {
  const { emails, vars } = mailbox();
  const { browser, email } = await signedUp(vars);
  await confirm(browser, emails[0]);
  const operators = `operator-${crypto.randomUUID()}@example.com`;
  const { account, statement } = insertAccount(env.DB, operators, null);
  await env.DB.batch([statement, openWallet(env.DB, account.id, 1_000_000_000)]);
  await browser.ask("/console/account/email", { email: operators });
  await confirm(browser, emails.at(-1));
  expect(await browser.read("/console")).not.toContain("1,000");
  const owner = await env.DB.prepare("SELECT id FROM account WHERE email = ?1").bind(operators).first<{ id: string }>();
  expect(owner!.id).toBe(account.id);
  expect(await env.DB.prepare("SELECT id FROM account WHERE email = ?1").bind(email).first()).not.toBeNull();
});

test("without e-mail only the operator can change an address", async () => {
  const { browser, email } = await signedUp();
  const response = await browser.ask("/console/account/email", { email: "moved@example.com" });
  expect(response.headers.get("location")).toBe("/console/account?problem=email_by_operator");
  expect(await browser.read("/console/account")).toContain(email);
});

test("a session in use is prolonged once a day, in the browser too, and ends after a week without use", async () => {
  const { browser } = await signedUp();
  const start = Date.now();
  const visit = (day: number) => (vi.setSystemTime(start + day * 86_400_000), browser.ask("/console"));
  const renewed = async (day: number) => (await visit(day)).headers.getSetCookie().filter((line) => line.includes("session_token="));
  expect(await renewed(0.5)).toEqual([]);
  for (const day of [5, 10]) {
    expect(await renewed(day)).toEqual([expect.stringMatching(/Max-Age=604800;.*HttpOnly; Secure; SameSite=Lax/)]);
    expect(await renewed(day + 0.1)).toEqual([]);
  }
  // Ending all sessions after a day of use leaves no cookie.
  vi.setSystemTime(start + 12 * 86_400_000);
  const { browser: other } = await signedUp();
  vi.setSystemTime(start + 14 * 86_400_000);
  await other.ask("/console/account/sessions/end", {});
  expect([...other.cookies.keys()].filter((name) => name.includes("session_token"))).toEqual([]);
  expect((await visit(17.1)).headers.get("location")).toBe("/console/sign-in?ended=1");
});

test("a user whose account is disabled can sign out", async () => {
  const { browser, email } = await signedUp();
  await env.DB.prepare("UPDATE account SET disabled = 1 WHERE email = ?1").bind(email).run();
  const answer = await browser.ask("/console/keys");
  expect(answer.status).toBe(403);
  const text = await answer.text();
  expect(text).toContain('<form method="post" action="/console/sign-out"');
  expect(text).toContain("The operator has disabled this account.");
  expect((await browser.ask("/console/sign-out", {})).status).toBe(303);
  expect((await browser.ask("/console/keys")).headers.get("location")).toMatch(/^\/console\/sign-in/);
});

test("a user opens a hundred sessions an hour: each is a row, and one of the audit log", async () => {
  const email = await new Browser().signUp();
  const signIn = async () => (await new Browser().ask("/console/sign-in", { email, password: "correct horse battery" })).status;
  expect(await signIn()).toBe(303);
  const counted = "key = (SELECT 'sessions ' || id FROM auth_user WHERE email = ?1)";
  expect(await env.DB.prepare(`SELECT count FROM auth_rate_limit WHERE ${counted}`).bind(email).first("count")).toBe(2);
  await env.DB.prepare(`UPDATE auth_rate_limit SET count = 99 WHERE ${counted}`).bind(email).run();
  expect([await signIn(), await signIn()]).toEqual([303, 429]);
});

test("the name of a browser is stored short: the audit log keeps it for more than a year", async () => {
  const { browser, email } = await signedUp();
  const agent = `Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0 ${"x".repeat(15_000)}`;
  await signedIn(email, {}, { "user-agent": agent });
  const { stored, logged } = (await env.DB.prepare(
    `SELECT max(length(s.userAgent)) AS stored, max(length(l.after)) AS logged
     FROM auth_user u JOIN auth_session s ON s.userId = u.id JOIN audit_log l ON l.actor_id = u.id WHERE u.email = ?1`,
  )
    .bind(email)
    .first<{ stored: number; logged: number }>())!;
  expect([stored > 40 && stored <= 300, logged <= 400]).toEqual([true, true]);
  expect(await browser.read("/console/account")).toContain("Firefox, Linux");
});

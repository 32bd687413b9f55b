/** The console: signing in, API keys, balance. */

import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { accountByEmail, insertAccount } from "../../src/db/accounts.ts";
import { findCaller } from "../../src/db/callers.ts";
import { listKeys } from "../../src/db/api-keys.ts";
import { parts } from "../../src/console/messages.ts";
import { relativeTime, spanText } from "../../src/console/parts/date-time.tsx";
import { openWallet } from "../../src/db/ledger.ts";
import gateway from "../../src/worker.ts";
import { Browser, signedUp } from "./support.ts";

test("visitors are redirected to the sign-in page", async () => {
  for (const path of ["/console", "/console/keys"]) {
    const response = await new Browser().ask(path);
    expect(response.status).toBe(303);
    expect(response.headers.get("location")).toBe(`/console/sign-in${path === "/console" ? "" : `?to=${encodeURIComponent(path)}`}`);
  }
});

test("signing up opens an account with the sign-up quota", async () => {
  const { browser } = await signedUp();
  expect(await browser.read("/console")).toContain("$5.00");
});

test("the session cookie is limited to this host and not readable by scripts", async () => {
  const { browser, email } = await signedUp();
  await browser.ask("/console/sign-out", {});
  const response = await browser.ask("/console/sign-in", { email, password: "correct horse battery" });
  expect(response.status).toBe(303);
  const session = response.headers.getSetCookie().find((cookie) => cookie.includes("session_token"))!;
  expect(session).toMatch(/^__Secure-gateway\.session_token=/);
  expect(session).toMatch(/HttpOnly/);
  expect(session).toMatch(/Secure/);
  expect(session).toMatch(/SameSite=Lax/i);
});

test("signing out ends the session, also for a copied cookie", async () => {
  const { browser } = await signedUp();
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  await browser.ask("/console/sign-out", {});
  expect((await browser.ask("/console")).status).toBe(303);
  const again = await browser.ask("/console", undefined, null, { cookie });
  expect(again.status).toBe(303);
});

test("a wrong password is refused, and after five of them in a minute further attempts are refused", async () => {
  const { email } = await signedUp();
  const other = new Browser();
  const statuses: number[] = [];
  for (let attempt = 0; attempt < 6; attempt++)
    statuses.push((await other.ask("/console/sign-in", { email, password: "wrong horse battery" })).status);
  expect(statuses).toEqual([401, 401, 401, 401, 401, 429]);
});

test("a page that is asked for after the session has ended says so on the sign-in page, and for a visitor it does not", async () => {
  const { browser, email } = await signedUp();
  // Signed out elsewhere: the browser still has its cookie.
  await env.DB.prepare("DELETE FROM auth_session WHERE userId = (SELECT id FROM auth_user WHERE email = ?1)").bind(email).run();
  const answer = await browser.ask("/console/usage");
  expect([answer.status, answer.headers.get("location")]).toEqual([303, "/console/sign-in?ended=1&to=%2Fconsole%2Fusage"]);
  expect(await browser.read(answer.headers.get("location")!)).toContain("Your session has ended.");
  const live = await browser.ask("/console/usage", undefined, null, { "hx-request": "true" });
  expect(live.headers.get("hx-redirect")).toBe("/console/sign-in?ended=1&to=%2Fconsole%2Fusage");
  const visitor = await new Browser().ask("/console/usage");
  expect(visitor.headers.get("location")).toBe("/console/sign-in?to=%2Fconsole%2Fusage");
  expect(await new Browser().read("/console/sign-in")).not.toContain("Your session has ended.");
});

test("a key is shown once, works, and is refused after its deletion", async () => {
  const { browser } = await signedUp();
  const shown = await (await browser.ask("/console/keys", { name: "first <i>key</i>", quota: "1.5", expires: "" })).text();
  const key = /sk-[0-9A-Za-z]{49}/.exec(shown)![0];
  expect(shown).not.toContain("<i>key</i>");
  const caller = await findCaller(env, key);
  expect(caller).toBeDefined();
  const list = await browser.read("/console/keys");
  expect(list).not.toContain(key);
  expect(list).toContain(key.slice(0, 10));
  expect(list).toContain("first &lt;i&gt;key&lt;/i&gt;");
  expect(list).toContain("1.5");
  const confirm = await browser.read(`/console/keys/${caller!.keyId}/delete`);
  expect(confirm).toContain("Delete the key “first");
  expect((await browser.ask(`/console/keys/${caller!.keyId}/delete`, {})).status).toBe(303);
  expect(await findCaller(env, key)).toBeUndefined();
  expect(await browser.read("/console/keys")).toContain("There are no keys yet.");
});

test.each([
  [{ name: "", quota: "", expires: "" }, "1 to 200"],
  [{ name: "x", quota: "-1", expires: "" }, "at most six decimals"],
  [{ name: "x", quota: "0.0000001", expires: "" }, "at most six decimals"],
  [{ name: "x", quota: "", expires: "2020-01-01" }, "in the future"],
  [{ name: "x", quota: "", expires: "soon" }, "in the future"],
])("a key of %o is refused", async (form, reason) => {
  const { browser } = await signedUp();
  const response = await browser.ask("/console/keys", form);
  expect(response.status).toBe(400);
  expect(await response.text()).toContain(reason);
  expect(await browser.read("/console/keys")).toContain("There are no keys yet.");
});

test("signing up with the address of an account that the operator opened gives no access to it", async () => {
  const email = `operator-${crypto.randomUUID()}@example.com`;
  const { account, statement } = insertAccount(env.DB, email, null);
  await env.DB.batch([statement, openWallet(env.DB, account.id, 1_000_000_000)]);
  const browser = new Browser();
  expect(
    (await browser.ask("/console/sign-up", { name: "Eve", email: email.toUpperCase(), password: "correct horse battery" })).status,
  ).toBe(303);
  const response = await browser.ask("/console");
  expect(response.status).toBe(403);
  expect(await response.text()).not.toContain("1,000");
});

test("pages allow no inline script, no frame and no other host, and are never cached", async () => {
  const { headers } = await new Browser().ask("/console/sign-in");
  const policy = headers.get("content-security-policy")!;
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toContain("unsafe");
  expect(policy).toContain("script-src 'self';");
  expect(headers.get("cache-control")).toBe("no-store");
  expect(Object.fromEntries(headers)).toMatchObject({
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
  });
});

test("the policy is whole, with the operator's host for assets and without", async () => {
  const readPolicy = async (vars: Partial<ConsoleEnv>) =>
    (await new Browser(vars).ask("/console/sign-in")).headers.get("content-security-policy");
  const whole = (assets: string) =>
    `default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' blob: data:${assets}; media-src 'self'${assets}; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`;
  expect(await readPolicy({})).toBe(whole(""));
  expect(await readPolicy({ ASSET_BASE_URL: "https://files.example/any" })).toBe(whole(" https://files.example"));
});

test("stylesheets are served by the console", async () => {
  const browser = new Browser();
  const [href] = /\/console\/static\/console\.[0-9a-f]{10}\.css/.exec(await browser.read("/console/sign-in"))!;
  const response = await browser.ask(href);
  expect(response.headers.get("content-type")).toBe("text/css; charset=utf-8");
  expect(response.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
  const style = await response.text();
  expect(style).toContain("--accent");
  const [font] = /\/console\/static\/inter\.[0-9a-f]{10}\.woff2/.exec(style)!;
  const served = await browser.ask(font);
  expect(served.headers.get("content-type")).toBe("font/woff2");
  expect((await served.arrayBuffer()).byteLength).toBeGreaterThan(40_000);
  // A page of another deployment asks for another hash: it gets the current stylesheet, which is not cached under that name.
  const other = await browser.ask("/console/static/console.0123456789.css");
  expect([other.status, other.headers.get("cache-control")]).toEqual([200, "no-store"]);
  for (const name of ["other.css", "console.css", "other.0123456789.css"])
    expect((await browser.ask(`/console/static/${name}`)).status).toBe(404);
});

test.each([
  ["zh", "登录"],
  ["ko", "로그인"],
  ["ja", "ログイン"],
])("pages in %s", async (language, word) => {
  const browser = new Browser();
  expect((await browser.ask(`/console/language?to=${language}`)).status).toBe(303);
  const text = await browser.read("/console/sign-in");
  expect(text).toContain(`<html lang="${language}">`);
  expect(text).toContain(word);
});

test.each([
  ["zh", /余额：<span id="balance-side">/, "2 分钟前"],
  ["ko", /잔액: <span id="balance-side">/, "2분 전"],
  ["ja", /残高：<span id="balance-side">/, "2 分前"],
] as const)("amounts and times have the order and spaces of %s", async (language, balance, ago) => {
  const { browser } = await signedUp();
  await browser.ask(`/console/language?to=${language}`);
  expect(await browser.read("/console")).toMatch(balance);
  expect(relativeTime(language, 0, 125_000)).toBe(ago);
});

test.each([
  [3_600_000, "in 1 hr"],
  [3_599_001, "in 1 hr"],
  [3_540_000, "in 59 min"],
  [86_399_001, "in 24 hr"],
  [29_000, "now"],
  [-125_000, "2 min ago"],
])("%d ms from now are %s", (away, text) => {
  expect(relativeTime("en", 1_700_000_000_000 + away, 1_700_000_000_000)).toBe(text);
});

test.each([
  ["en", "97 ms", "1.24 s", "3 min 12 s", "2 min"],
  ["zh", "97 ms", "1.24 秒", "3 分钟 12 秒", "2 分钟"],
  ["ko", "97 ms", "1.24초", "3분 12초", "2분"],
  ["ja", "97 ms", "1.24 秒", "3 分 12 秒", "2 分"],
])("lengths of time in %s have its units", (language, ...texts) => {
  expect([97, 1_240, 192_000, 120_000].map((ms) => spanText(language, ms))).toEqual(texts);
});

test("choosing a language returns to the page where it was chosen, but not to another host or to the answer of a form", async () => {
  const browser = new Browser();
  const after = async (referer: string) =>
    (await browser.ask("/console/language?to=ko", undefined, null, { referer })).headers.get("location");
  expect(await after("https://gateway.example/console/playground?model=vidA-2")).toBe("/console/playground?model=vidA-2");
  for (const other of ["https://evil.example/console/tasks", "https://gateway.example//evil.example/console", "console", ""])
    expect(await after(other)).toBe("/console");
  const link = /<a href="\/console\/language\?to=ja"[^>]*>/;
  expect(link.exec(await browser.read("/console/sign-in"))![0]).not.toContain("referrerpolicy");
  const answer = await browser.ask("/console/sign-in", { email: "nobody@example.com", password: "wrong" });
  expect(link.exec(await answer.text())![0]).toContain('referrerpolicy="no-referrer"');
});

test("answers have the gateway's common headers", async () => {
  const { headers } = await new Browser().ask("/console/sign-in");
  expect(headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
});

test("without the CONSOLE binding /console is 404, and so is a path that only begins with it", async () => {
  const ctx = createExecutionContext();
  const { CONSOLE: _, ...without } = env;
  expect((await gateway.fetch(new Request("https://gateway.example/console"), without, ctx)).status).toBe(404);
  expect((await new Browser().ask("/consoles")).status).toBe(404);
});

test("an unknown page is 404, with navigation for signed-in users; a trailing slash redirects to the page", async () => {
  const stranger = await new Browser().ask("/console/nothing");
  expect(stranger.status).toBe(404);
  expect(await stranger.text()).not.toContain('href="/console/usage"');
  const { browser } = await signedUp();
  for (const path of ["/console/nothing", "/console/keys/none/more", "/console/keys/none/delete"]) {
    const response = await browser.ask(path);
    expect(response.status, path).toBe(404);
    expect(await response.text(), path).toContain('href="/console/usage"');
  }
  for (const [path, to] of [
    ["/console/", "/console"],
    ["/console/keys/?a=b", "/console/keys?a=b"],
  ] as const) {
    const response = await browser.ask(path);
    expect([response.status, response.headers.get("location")]).toEqual([301, to]);
  }
});

test("after signing in or up the requested page opens, and never a page outside of the console", async () => {
  const browser = new Browser();
  const wanted = "/console/playground?model=vidA-2&prompt=Foam";
  const start = (await browser.ask(wanted)).headers.get("location")!;
  expect(start).toBe(`/console/sign-in?to=${encodeURIComponent(wanted)}`);
  const field = (html: string) => /<input type="hidden" name="to" value="([^"]*)"/.exec(html)?.[1]?.replaceAll("&amp;", "&");
  const form = await browser.read(start);
  expect(field(form)).toBe(wanted);
  const link = /href="(\/console\/sign-up[^"]*)"/.exec(form)![1];
  const to = field(await browser.read(link ?? ""))!;
  const person = { name: "Ann", email: `ann-${crypto.randomUUID()}@example.com`, password: "correct horse battery" };
  const up = await browser.ask("/console/sign-up", { ...person, to });
  expect([up.status, up.headers.get("location")]).toEqual([303, wanted]);
  // After a wrong password the return path and the address are kept.
  const again = new Browser();
  const refused = await (await again.ask("/console/sign-in", { ...person, password: "wrong horse battery", to })).text();
  expect(field(refused)).toBe(wanted);
  expect(refused).toContain(`value="${person.email}"`);
  expect((await again.ask("/console/sign-in", { ...person, to })).headers.get("location")).toBe(wanted);
  const docs = "/docs/reference/tasks/getTask";
  expect((await again.ask("/console/sign-in", { ...person, to: docs })).headers.get("location")).toBe(docs);
  for (const other of ["https://evil.example/console", "//evil.example/docs", "/v1/models", "/console/sign-in", "javascript:alert(1)"])
    expect((await again.ask("/console/sign-in", { ...person, to: other })).headers.get("location"), other).toBe("/console");
});

test("a refused sign-up names the fields and keeps the values except the password", async () => {
  const { email } = await signedUp();
  const typed = { name: "Ann Example", email: "ann-at-example", password: "short" };
  const response = await new Browser().ask("/console/sign-up", typed);
  const html = await response.text();
  expect(response.status).toBe(400);
  for (const name of ["email", "password"]) {
    expect(html).toContain(`<a href="#f-${name}">`);
    expect(html).toMatch(new RegExp(`id="f-${name}"[^>]*aria-describedby="[^"]*f-${name}-error"[^>]*aria-invalid="true"`));
  }
  expect(html).not.toContain('<a href="#f-name">');
  expect(html).toContain('value="Ann Example"');
  expect(html).toContain('value="ann-at-example"');
  expect(html).not.toContain("short");
  const taken = await new Browser().ask("/console/sign-up", { ...typed, email, password: "correct horse battery" });
  expect(taken.status).toBe(400);
  expect(await taken.text()).toContain('<a href="#f-email">');
});

test("successful sign-ins do not count against the limit, and do not reset the count of wrong guesses", { timeout: 90_000 }, async () => {
  const email = await new Browser().signUp();
  const browser = new Browser();
  const attempt = async (password: string) => (await browser.ask("/console/sign-in", { email, password })).status;
  const right = "correct horse battery";
  for (let time = 0; time < 6; time++) expect(await attempt(right)).toBe(303);
  const wrong = "wrong horse battery";
  const statuses: number[] = [];
  for (const password of [wrong, wrong, wrong, right, wrong, right, wrong, right]) statuses.push(await attempt(password));
  // The fifth wrong guess reaches the limit: after it even the right password is refused.
  expect(statuses).toEqual([401, 401, 401, 303, 401, 303, 401, 429]);
});

test("a theme is stored, and other values are refused", async () => {
  const browser = new Browser();
  const theme = async () => /<html lang="en"( data-theme="\w+")?>/.exec(await browser.read("/console/sign-in"))?.[1];
  expect(await theme()).toBeUndefined();
  expect((await browser.ask("/console/theme?to=dark")).status).toBe(303);
  expect(await theme()).toBe(' data-theme="dark"');
  await browser.ask('/console/theme?to="><script>');
  expect(await theme()).toBeUndefined();
});

test("no two message files share a key, and each message has the same placeholders in every language", () => {
  const names = parts.flatMap(({ en }) => Object.keys(en));
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  const places = (text = "") => [...text.matchAll(/\{\w+\}/g)].map(([place]) => place).sort();
  for (const { en, ...others } of parts as readonly Record<string, Record<string, string>>[])
    for (const [language, table] of Object.entries(others))
      for (const [name, text] of Object.entries(en ?? {})) expect(places(table[name]), `${name} in ${language}`).toEqual(places(text));
});

test("pages opened at the same time create one key for the playground", async () => {
  const { browser, email } = await signedUp();
  const answers = await Promise.all(Array.from({ length: 4 }, () => browser.ask("/console")));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(await listKeys(env.DB, (await accountByEmail(env.DB, email))!.id)).toHaveLength(1);
  expect(await browser.read("/console/keys")).toContain("There are no keys yet.");
});

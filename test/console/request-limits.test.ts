/** How many pages and forms a user, and how many sign-ins and invitations a network of strangers may ask for in a minute. */

import { expect, test, vi } from "vitest";
import { bindings } from "../support/faults.ts";
import { holdTime } from "../support/gateway.ts";
import { Browser, mailbox, signedUp, words } from "./support.ts";

holdTime();

/** A limit of this many for each key. */
function limitOf(most: number) {
  const keys = new Map<string, number>();
  const limit = async ({ key }: RateLimitOptions) => {
    keys.set(key, (keys.get(key) ?? 0) + 1);
    return { success: keys.get(key)! <= most };
  };
  return { keys, limit };
}

/** The number of statements that D1 gets from now on. */
function countStatements(): () => number {
  const spies = (["first", "run", "all", "raw"] as const).map((method) => vi.spyOn(bindings.statement(), method));
  const batches = vi.spyOn(bindings.database(), "batch");
  return () => [...spies, batches].reduce((sum, { mock }) => sum + mock.calls.length, 0);
}

test("a form above the limit of a user changes nothing, and is sent again by reloading the page; others are not concerned", async () => {
  const FORMS = limitOf(2);
  const { browser } = await signedUp({ FORMS });
  const rename = (name: string, of = browser) => of.ask("/console/account/name", { name });
  expect([(await rename("Ann")).status, (await rename("Beth")).status]).toEqual([303, 303]);
  const refused = await rename("Cleo");
  expect([refused.status, refused.headers.get("retry-after"), refused.headers.get("cache-control")]).toEqual([429, "60", "no-store"]);
  expect(words(await refused.text())).toContain("Nothing was changed. Wait a minute, then reload this page");
  expect(await browser.read("/console/account")).toContain('value="Beth"');
  const { browser: other } = await signedUp({ FORMS });
  expect((await rename("Dora", other)).status).toBe(303);
  expect([...FORMS.keys.values()]).toEqual([3, 1]);
});

test("the playground keeps what was typed beside the note, and a live part of a page stays as it is", async () => {
  const { browser } = await signedUp({ PAGES: limitOf(0) });
  // What is typed there is sent at each pause, and counts as a page.
  const form = await browser.ask("/console/playground", { model: "imgA-4", do: "preview" }, undefined, { "hx-request": "true" });
  expect([form.status, form.headers.get("hx-reswap")]).toEqual([200, "none"]);
  expect(await form.text()).toContain("Too many requests in a minute.");
  const part = await browser.ask("/console/tasks", undefined, null, { "hx-request": "true" });
  expect([part.status, part.headers.get("hx-reswap"), await part.text()]).toEqual([429, "none", ""]);
});

test("a form of a page's script that is refused as a whole is answered with a message beside the page, which keeps what was typed", async () => {
  const browser = new Browser({ FORMS: limitOf(0) });
  const sent = { "hx-request": "true", accept: "text/event-stream" };
  const send = async (path: string, from?: string) => {
    const answer = await browser.ask(path, { say: "A long question", do: "send" }, from, sent);
    const text = await answer.text();
    expect(text).toMatch(/^<div class="toast stays" id="refused" hx-swap-oob="true">/);
    return [answer.status, text.replaceAll(/<[^>]*>/g, "")];
  };
  expect(await send("/console/chat")).toEqual([401, "You are signed out. Everything stays here while you sign in. Sign in"]);
  await browser.signUp();
  for (const path of ["/console/chat", "/console", "/console/keys/key_1/send", "/console/try/createImage"])
    expect(await send(path), path).toEqual([429, "Too many requests in a minute."]);
  expect(await send("/console/chat", "https://elsewhere.example")).toEqual([
    403,
    "This form was not sent from this site. Open the page again.",
  ]);
});

test("a user has three lists on their way as files; one that is read or broken off makes place for another", async () => {
  const [browser, other] = [new Browser(), new Browser()];
  await Promise.all([browser.signUp(), other.signUp()]);
  const paths = ["usage/charges.csv", "billing/credits.csv", "logs/requests.csv", "audit-log/log.csv"] as const;
  const get = async (path: string, of = browser) => of.ask(`/console/${path}`);
  const [first, second] = [await get(paths[0]), await get(paths[1]), await get(paths[2])];
  for (const path of paths) expect((await get(path)).status, path).toBe(429);
  expect((await get(paths[0], other)).status).toBe(200);
  await first.text();
  expect((await get(paths[3])).status).toBe(200);
  await second.body!.cancel();
  await vi.waitFor(async () => expect((await get(paths[3])).status).toBe(200));
});

test("pages above the limit of a user read only the session", async () => {
  const PAGES = limitOf(1);
  const { browser } = await signedUp({ PAGES });
  expect((await browser.ask("/console/usage")).status).toBe(200);
  const statements = countStatements();
  for (const path of ["/console/usage", "/console/logs", "/docs", "/console/nothing"])
    expect((await browser.ask(path)).status, path).toBe(429);
  const refused = statements();
  // The same without a limit, for comparison.
  const { browser: free } = await signedUp();
  const before = statements();
  await free.ask("/console/usage");
  expect(refused / 4).toBeLessThan((statements() - before) / 3);
});

test("an invitation that cannot be one is not looked up, and a network asks for a few of the others", async () => {
  const browser = new Browser({ VISITS: limitOf(3), SIGNUP: "invite" });
  const page = (token: string) => browser.ask(`/console/sign-up?invitation=${token}`);
  const statements = countStatements();
  expect((await page("x".repeat(1_000))).status).toBe(403);
  expect(statements()).toBe(0);
  const token = (at: number) => `join_${`${at}`.padStart(22, "0")}`;
  expect([(await page(token(1))).status, (await page(token(2))).status]).toEqual([403, 403]);
  const before = statements();
  expect(before).toBeGreaterThan(0);
  expect((await page(token(3))).status).toBe(429);
  expect((await browser.ask(`/console/sign-in?invitation=${token(4)}`)).status).toBe(429);
  expect((await browser.ask("/console/sign-up", { invitation: token(5) })).status).toBe(429);
  expect(statements()).toBe(before);
});

test("sign-ins above the limit of a network ask D1 for nothing, and a request that has begun is counted once", async () => {
  const VISITS = limitOf(2);
  const browser = new Browser({ VISITS, ...mailbox().vars });
  // Signs up, and asks better-auth several times.
  await browser.signUp();
  expect((await browser.ask("/console/forgot", { email: "ann@example.com" })).status).toBe(200);
  expect([...VISITS.keys.values()]).toEqual([2]);
  const statements = countStatements();
  for (const [path, form] of [
    ["/console/sign-in", { email: "ann@example.com", password: "correct horse battery" }],
    ["/console/sign-up", { name: "Ann", email: "ann@example.com", password: "correct horse battery" }],
    ["/console/forgot", { email: "ann@example.com" }],
    ["/console/reset", { token: "unknown", password: "correct horse battery" }],
    ["/console/sign-out", {}],
  ] as const)
    expect((await browser.ask(path, form)).status, path).toBe(429);
  expect((await browser.ask("/console/passkeys/options", "{}")).status).toBe(429);
  expect(statements()).toBe(0);
});

/** Search: the documentation for everyone, and with it the account's own things and actions for the signed-in. */

import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { accountByEmail } from "../../../src/db/accounts.ts";
import { insertConversation } from "../../../src/db/conversations.ts";
import { listMembers } from "../../../src/db/memberships.ts";
import { holdTime, submit, unique } from "../../support/gateway.ts";
import { Browser, operator, person, signedUp } from "../support.ts";

beforeEach(holdTime);
afterEach(() => vi.useRealTimers());

/** The paths of what was found, in order. */
const paths = (html: string) =>
  [...(/class="hits"[^]*?(?=<\/main>|$)/.exec(html)?.[0] ?? "").matchAll(/<a href="([^"]+)">/g)].map(([, path = ""]) => path);

test("a visitor finds sections of the guides and operations of the reference, by words that are nearly right", async () => {
  const browser = new Browser();
  const page = await browser.read("/docs/search?q=idempotency");
  expect(page).toContain("<!doctype html>");
  expect(paths(page)[0]).toBe("/docs/idempotency");
  expect(page).toContain("<mark>Idempotency</mark>");
  expect(paths(await browser.read("/docs/search?q=idempotancy"))).toContain("/docs/idempotency");
  expect(paths(await browser.read("/docs/search?q=cancel+task"))).toContain("/docs/reference/tasks/cancelTask");
  const none = await browser.read("/docs/search?q=%3Cb%3Exyzzyplugh");
  expect(none).toContain("Nothing has “&lt;b&gt;xyzzyplugh”");
  expect(paths(none)).toEqual([]);
  expect(await browser.read("/docs/search")).toContain('<input class="in" type="search"');
});

test("every section that is found is on its page", async () => {
  const browser = new Browser();
  const found = new Set(
    (await Promise.all(["task", "file", "key", "error"].map((word) => browser.read(`/docs/search?q=${word}`)))).flatMap(paths),
  );
  expect(found.size).toBeGreaterThan(30);
  const pages = new Map<string, string>();
  for (const path of found) {
    const [page = "", anchor] = path.split("#");
    if (!pages.has(page)) pages.set(page, await browser.read(page));
    if (anchor !== undefined) expect(pages.get(page), path).toContain(`id="${anchor}"`);
  }
});

test("a user finds the own conversations by their titles, and no other user's", async () => {
  const [mine, other] = [new Browser(), new Browser()];
  const accounts = await Promise.all([mine, other].map(async (browser) => (await accountByEmail(env.DB, await browser.signUp()))!.id));
  for (const [at, accountId] of accounts.entries()) {
    const [owner] = await listMembers(env.DB, accountId);
    await insertConversation(
      env.DB,
      { accountId, userId: owner?.userId ?? "" },
      { id: `conv_own_${at}`, title: "What are dunes made of?", at: Date.now(), turns: "[]" },
    );
  }
  const page = await mine.read("/console/search?q=made+dunes");
  expect(paths(page)).toContain("/console/chat/conv_own_0");
  expect(page).not.toContain("conv_own_1");
  expect(page).toContain("Conversation</span>");
});

test("a user finds pages, models, keys and actions; the palette gets the list alone", async () => {
  const { browser } = await signedUp();
  await browser.ask("/console/keys", { name: "Lighthouse shop", quota: "", expires: "" });
  const page = await browser.read("/console/search?q=lighthouse");
  expect(page).toContain("<h1>Search</h1>");
  expect(paths(page).some((path) => /^\/console\/keys\/key_\w+\/change$/.test(path))).toBe(true);
  // A page by its name comes first; the word in every page's address finds none.
  expect(paths(await browser.read("/console/search?q=webhooks"))[0]).toBe("/console/webhooks");
  expect(paths(await browser.read("/console/search?q=consol"))).not.toContain("/console/webhooks");
  expect(paths(await browser.read("/console/search?q=vidA-2"))).toContain("/console/models/vidA-2");
  expect(paths(await browser.read("/console/search?q=invite"))).toContain("/console/members/invitations");
  expect(paths(await browser.read("/console/search?q=task_0123456789abcdef"))).toEqual(["/console/tasks/task_0123456789abcdef"]);
  const list = await browser.ask("/console/search?q=webhooks", undefined, null, { "x-palette": "1" });
  const html = await list.text();
  expect(html.startsWith('<div class="hits">')).toBe(true);
  expect(html).not.toContain("<html");
  // Before anything is typed: where one can go, and what one can do.
  const empty = paths(await (await browser.ask("/console/search", undefined, null, { "x-palette": "1" })).text());
  expect(empty).toEqual(expect.arrayContaining(["/console", "/console/batches/new"]));
  expect(empty).not.toContain("/console/admin");
});

test("a stranger's things are not found, and a visitor is asked to sign in", async () => {
  const [owner, stranger] = [new Browser(), new Browser()];
  await owner.signUp();
  await stranger.signUp();
  await owner.ask("/console/keys", { name: "Lighthouse secret", quota: "", expires: "" });
  expect(paths(await stranger.read("/console/search?q=lighthouse")).some((path) => path.includes("key_"))).toBe(false);
  expect((await new Browser().ask("/console/search?q=x")).headers.get("location")).toBe("/console/sign-in?to=%2Fconsole%2Fsearch%3Fq%3Dx");
});

test("an operator's admin finds the admin page", async () => {
  const { browser } = await operator();
  expect(paths(await browser.read("/console/search?q=admin"))).toContain("/console/admin");
});

test("the palette, which asks while a user types, reads the newest hundred tasks; the page reads more", async () => {
  const { browser, account } = await person(new Browser(), 95);
  const make = (prompt: string) => submit(account, "/v1/images/generations", { model: "imgA-4", prompt });
  const oldest = await make("The very first cormorant");
  vi.setSystemTime(Date.now() + 1000);
  await Promise.all(Array.from({ length: 100 }, () => make(unique())));
  vi.setSystemTime(Date.now() + 1000);
  const path = "/console/search?q=cormorant";
  const palette = () => browser.ask(path, undefined, null, { "x-palette": "1" });
  expect(paths(await (await palette()).text())).toEqual([]);
  expect(paths(await browser.read(path))).toEqual([`/console/tasks/${oldest}`]);
  const newest = await make("The very last cormorant");
  expect(paths(await (await palette()).text())).toEqual([`/console/tasks/${newest}`]);
});

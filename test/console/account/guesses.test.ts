/** Guesses at one user's password from many networks. */

import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { expire } from "../../../src/operations/expire.ts";
import { holdTime } from "../../support/gateway.ts";
import { Browser, mailbox, signedUp } from "../support.ts";

holdTime();

const password = "correct horse battery";
const wrong = "wrong horse battery";

/** The status of an attempt to sign in from a browser and network that are new. */
const attempt = async (email: string, given: string) => (await new Browser().ask("/console/sign-in", { email, password: given })).status;

/** Thirty wrong guesses, each from another network. */
async function guess(email: string): Promise<void> {
  for (let count = 0; count < 30; count++) expect(await attempt(email, wrong)).toBe(401);
}

test("strangers have thirty guesses an hour at one password, from however many networks; the user's browsers still sign in", async () => {
  const { browser, email } = await signedUp();
  await browser.ask("/console/sign-out", {});
  const { browser: other } = await signedUp();
  await guess(email.toUpperCase());
  // Also with the right password, and from a browser in which another user has signed in.
  expect([await attempt(email, password), (await other.ask("/console/sign-in", { email, password })).status]).toEqual([429, 429]);
  expect((await browser.ask("/console/sign-in", { email, password: wrong })).status).toBe(401);
  expect((await browser.ask("/console/sign-in", { email, password })).status).toBe(303);
  vi.setSystemTime(Date.now() + 3_600_000);
  expect(await attempt(email, password)).toBe(303);
});

test("a browser that has once signed in as the user and now guesses the new password does not lock the user out of others", async () => {
  const [browser, intruder] = [new Browser(), new Browser()];
  const email = await browser.signUp();
  await intruder.ask("/console/sign-in", { email, password });
  const cookie = [...intruder.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const chosen = "another horse battery";
  await browser.ask("/console/account/password", { old: password, new: chosen });
  await browser.ask("/console/sign-out", {});
  const guessAgain = () => new Browser().ask("/console/sign-in", { email, password }, undefined, { cookie });
  for (let count = 0; count < 30; count++) expect((await guessAgain()).status).toBe(401);
  expect((await guessAgain()).status).toBe(429);
  expect((await browser.ask("/console/sign-in", { email, password: chosen })).status).toBe(303);
});

test("an address that is not known is refused in the same way", async () => {
  const email = `nobody-${crypto.randomUUID()}@example.com`;
  await guess(email);
  expect(await attempt(email, wrong)).toBe(429);
  // An address of any length makes a short row.
  await attempt(`${"x".repeat(100_000)}@example.com`, wrong);
  expect(await env.DB.prepare("SELECT max(length(key)) AS longest FROM auth_rate_limit").first("longest")).toBeLessThan(300);
});

test("a user who is refused sets a new password by e-mail, and signs in with it in the same browser", async () => {
  const { emails, vars } = mailbox();
  const email = await new Browser().signUp();
  await guess(email);
  const browser = new Browser(vars);
  expect((await browser.ask("/console/sign-in", { email, password })).status).toBe(429);
  await browser.ask("/console/forgot", { email });
  const token = /token=([\w-]+)/.exec(emails[0]?.text ?? "")?.[1] ?? "";
  const chosen = "another horse battery";
  expect((await browser.ask("/console/reset", { token, password: chosen })).status).toBe(303);
  expect((await browser.ask("/console/sign-in", { email, password: chosen })).status).toBe(303);
});

test("successes are no guesses, and the cookie of a known browser opens nothing", async () => {
  const { browser, email } = await signedUp();
  for (let count = 0; count < 32; count++) expect(await attempt(email, password)).toBe(303);
  const known = [...browser.cookies].find(([name]) => name.endsWith("gateway.known"))!;
  const session = [...browser.cookies].find(([name]) => name.endsWith("session_token"))!;
  const ask = (value: string) => new Browser().ask("/console", undefined, undefined, { cookie: `${session[0]}=${value}` });
  expect([(await ask(session[1])).status, (await ask(known[1])).status]).toEqual([200, 303]);
});

test("attempts are removed after an hour, also those of networks that never come back, without a look at the others", async () => {
  const count = (key: string) =>
    env.DB.prepare("SELECT count(*) AS count FROM auth_rate_limit WHERE key LIKE ?1").bind(`${key}%`).first<number>("count");
  const fill = (key: string, at: number) =>
    env.DB.prepare(
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
       INSERT INTO auth_rate_limit SELECT ?1 || i, ?1 || i, 1, ?2 FROM n`,
    )
      .bind(key, at)
      .run();
  const now = Date.now();
  const mark = crypto.randomUUID();
  await env.DB.prepare("DELETE FROM auth_rate_limit").run();
  await fill(`new ${mark}`, now - 3_599_999);
  await fill(`old ${mark}`, now - 3_600_001);
  const reads: number[] = [];
  const database = Object.getPrototypeOf(env.DB) as D1Database;
  const { batch } = database;
  const spy = vi.spyOn(database, "batch").mockImplementation(async function (this: D1Database, statements) {
    const results = await batch.call(this, statements);
    reads.push(...results.map(({ meta }) => meta.rows_read));
    return results as never;
  });
  await expire(env, now);
  spy.mockRestore();
  // A run has an end, and the next one removes the rest.
  expect([await count("old"), await count("new")]).toEqual([2_000, 12_000]);
  expect(Math.max(...reads)).toBeLessThan(45_000);
  await expire(env, now);
  expect([await count("old"), await count("new")]).toEqual([0, 12_000]);
  await env.DB.prepare("DELETE FROM auth_rate_limit").run();
});

/** Unusual input of the pages: ids that are paths, texts that are almost days, a refused form, a fault before the page has a language. */

import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { accountByEmail, setAdmin } from "../../../src/db/accounts.ts";
import { byTest } from "../../support/actor.ts";
import { Objects } from "../../../src/rpc/objects.ts";
import { complete, holdTime, unique } from "../../support/gateway.ts";
import { bindings, failOnce } from "../../support/faults.ts";
import { path as playground, person, send } from "./support.ts";
import { Browser } from "../support.ts";

holdTime();

const images = "/v1/images/generations";

test("an id of a form or a path that is empty or a dot names no task", async () => {
  const { browser, account } = await person();
  await complete(account, images, { model: "imgA-4", prompt: unique() });
  for (const id of ["", ".", "..", "%2e", "../tasks", "?", "#"]) {
    expect((await browser.ask("/console/tasks/delete", { task: id })).status, id).toBe(200);
    const deleted = await browser.ask("/console/tasks/delete", { task: id, sure: "yes" });
    expect(deleted.headers.get("location"), id).toBe("/console/tasks?deleted=0&kept=1");
    expect((await browser.ask("/console/tasks/download", { task: id })).status, id).toBe(404);
    // The page of a form shows the result of earlier runs beside it.
    expect((await send(browser, "imgA-4", { prompt: "x", run: id }, "price")).status, id).toBe(200);
  }
  for (const from of ["/0", "./0", "../0"])
    expect((await send(browser, "imgA-4", { prompt: "x", "pictures.0.task": from })).status, from).toBe(400);
  for (const ids of ["%2C", "%2C%2C"]) expect((await browser.ask(`${playground}/runs/${ids}`)).status, ids).toBe(404);
});

test("a key's day of expiry is a whole day that exists", async () => {
  const { browser } = await person();
  for (const expires of ["2130", "2130-06", "2130-02-30", "2130-13-01", "2130-1-1", "+012130-01-01", "x", "2020-01-01"]) {
    const answer = await browser.ask("/console/keys", { name: "day", quota: "", expires });
    expect(answer.status, expires).toBe(400);
    expect(await answer.text(), expires).toContain(`value="${expires}"`);
  }
  expect((await browser.ask("/console/keys", { name: "leap", quota: "", expires: "2132-02-29" })).status).toBe(200);
  expect(await browser.read("/console/keys")).toContain('datetime="2132-02-29T23:59:59.000Z"');
});

test("a fault of a thumbnail is an error page in the browser's language, which is not cached", async () => {
  const { browser, account } = await person();
  await complete(account, images, { model: "imgA-4", prompt: unique() });
  const [, thumbnail = ""] = /src="(\/console\/thumbnails\/[^"]+)"/.exec(await browser.read("/console/tasks"))!;
  const spy = vi.spyOn(console, "error");
  failOnce(bindings.bucket(), "get");
  const answer = await browser.ask(thumbnail.replaceAll("&amp;", "&"), undefined, undefined, { "accept-language": "ja" });
  expect(answer.status).toBe(500);
  expect(await answer.text()).toContain('<html lang="ja"');
  expect(answer.headers.get("cache-control")).toBe("no-store");
  expect(answer.headers.get("content-security-policy")).toContain("default-src 'none'");
  const causes = spy.mock.calls.filter(([line]) => String(line).includes('"console"'));
  expect(causes).toHaveLength(1);
});

test("a key's name that begins with a full-width sign is no formula in the table of charges", async () => {
  const { browser, account } = await person();
  const { keyId } = account;
  expect((await browser.ask(`/console/keys/${keyId}/change`, { name: "＝1+1", quota: "" })).status).toBe(303);
  await complete(account, images, { model: "imgA-4", prompt: unique() });
  expect(await browser.read("/console/usage/charges.csv")).toContain(",'＝1+1,");
});

test("the usage page's links keep the grouping", async () => {
  const { browser } = await person();
  const text = await browser.read("/console/usage?days=7&by=reference");
  for (const days of [7, 30, 90]) expect(text).toContain(`href="/console/usage?days=${days}&amp;by=reference"`);
  expect(await browser.read("/console/usage?days=7")).toContain('href="/console/usage?days=90"');
});

test("a refused form of an admin keeps the typed values, and a user's name cannot reorder the address beside it", async () => {
  const admin = new Browser();
  await setAdmin(env.DB, new Objects(env), byTest, (await accountByEmail(env.DB, await admin.signUp()))!.id, true);
  const opened = await admin.ask("/console/admin/accounts", { email: "not an address", name: "Ann", quota: "", unlimited: "yes" });
  expect(opened.status).toBe(400);
  expect(await opened.text()).toMatch(/name="unlimited" value="yes" checked/);

  const user = new Browser();
  const email = await user.signUp();
  const { id } = (await accountByEmail(env.DB, email))!;
  const page = `/console/admin/accounts/${id}`;
  const refused = await admin.ask(`${page}/budget`, { budget: "1,5", window: "day" });
  expect(refused.status).toBe(400);
  const text = await refused.text();
  expect(text).toMatch(/name="budget"[^>]*value="1,5"/);
  expect(text).toMatch(/<option value="day" selected/);

  await user.ask("/console/account/name", { name: "\u202emoc.elpmaxe@nimda\u2066" });
  expect(await admin.read(page)).toContain(`moc.elpmaxe@nimda (${email})`);
  expect(await admin.read(page)).not.toMatch(/[\u202e\u2066]/);
});

test("large forms of visitors are counted while they arrive: sixteen at once, beside which everybody signs in", async () => {
  const form = { "content-type": "application/x-www-form-urlencoded" };
  const start = new TextEncoder().encode(`email=nobody%40example.com&password=${"x".repeat(90_000)}`);
  const ends: (() => void)[] = [];
  const send = (isStalled: boolean) => {
    const { promise: taken, resolve } = Promise.withResolvers<void>();
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(start);
        if (isStalled) ends.push(() => controller.close());
        else controller.close();
      },
      pull: () => resolve(),
    });
    return { taken, answer: new Browser().ask("/console/sign-in", body, undefined, form) };
  };
  const stalled = Array.from({ length: 16 }, () => send(true));
  await Promise.all(stalled.map(({ taken }) => taken));
  expect((await send(false).answer).status).toBe(503); // the seventeenth at once
  expect((await new Browser().ask("/console/sign-in", { email: "nobody@example.com", password: "a long password" })).status).toBe(401);
  for (const end of ends) end();
  for (const { answer } of stalled) expect((await answer).status).toBe(401);
  expect((await send(false).answer).status).toBe(401);
});

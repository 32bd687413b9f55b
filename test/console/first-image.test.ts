/** The overview of an account without tasks: its first image is made in place, once however often the form is sent. */

import { expect, test } from "vitest";
import { nextTask, taskIds } from "../openai/support.ts";
import { asAdmin, finish, holdTime, readBalance, unique } from "../support/gateway.ts";
import { person } from "./support.ts";

holdTime();

const keyIn = (html: string) => /name="key" value="([\w-]+)"/.exec(html)?.[1] ?? "";

test("the form makes one image without script, however often it is sent, and leads to its page", async () => {
  const { browser, account } = await person();
  const first = await browser.read("/console");
  expect(first).toContain("Make a first image");
  expect(first).toContain("Run · $0.03");
  expect(first.match(/class="btn primary/g)?.length).toBe(1);
  const form = { key: keyIn(first), prompt: unique() };
  const [one, again] = await Promise.all([browser.ask("/console/first", form), browser.ask("/console/first", form)]);
  expect(one.status).toBe(303);
  expect(one.headers.get("location")).toMatch(/^\/console\/tasks\/task_/);
  expect(again.headers.get("location")).toBe(one.headers.get("location"));
  expect((await readBalance(account)).reserved).toBe(0.03);
  expect(await browser.read("/console")).not.toContain("Make a first image");
});

test("with script the image comes in place, and the balance of the page with it", async () => {
  const { browser, account } = await person();
  const form = { key: keyIn(await browser.read("/console")), prompt: unique() };
  const asked = browser.ask("/console/first", form, undefined, { "hx-request": "true" });
  await finish(account, await nextTask(account));
  const text = await (await asked).text();
  expect(text).toContain("It is in the gallery too.");
  // The second step is done, the first says the same balance.
  expect(text).toMatch(
    /id="first-steps" hx-swap-oob="true">.*value="4\.97".*<li class="done"><span class="n"><svg.*Create your first image/,
  );
  expect(text).toMatch(/<span id="balance-side" hx-swap-oob="true"><data class="num" value="4\.97"/);
});

test("an example of the address fills the field; another text is not taken", async () => {
  const { browser } = await person();
  expect(await browser.read("/console?example=example_fox")).toContain("A fox in fresh snow, soft light</textarea>");
  expect(await browser.read("/console?example=overview")).toContain("A lighthouse at dawn, the sea calm</textarea>");
});

test("a refused prompt and an empty balance are said in place", async () => {
  const { browser, id } = await person();
  const ask = (prompt: string) => browser.ask("/console/first", { key: crypto.randomUUID(), prompt }, undefined, { "hx-request": "true" });
  const refused = await ask("");
  expect([refused.status, await refused.text()]).toEqual([200, expect.stringContaining('class="note bad"')]);
  await asAdmin(`/accounts/${id}`, { method: "PATCH", body: { quota: 0 } });
  expect(await (await ask("x")).text()).toContain("The balance is insufficient.");
  expect((await browser.ask("/console/first", { key: "x", prompt: "x" }, "https://elsewhere.example")).status).toBe(403);
});

test("an operation of the reference that is tried makes one image, however often its form is sent", async () => {
  const { browser, account } = await person();
  const key = keyIn(await browser.read("/docs/reference/generations/createImage"));
  expect(key).toMatch(/^[0-9a-f-]{36}$/);
  const asked = [0, 1].map(() => browser.ask("/console/try/createImage", { key }, undefined, { "x-part": "1" }));
  await finish(account, await nextTask(account));
  const texts = await Promise.all(asked.map(async (answer) => (await answer).text()));
  expect(new Set(texts.map((text) => /task_[\w-]+/.exec(text)?.[0])).size).toBe(1);
  expect(await taskIds(account)).toHaveLength(1);
});

/** What every page has: the drawer of phones, the theme, toasts, busy buttons, exact times and amounts, the ways in and back. */

import { openMenu } from "./support/account-menu.ts";
import { makeTasks } from "./support/own-tasks.ts";
import { expect, newPerson, test } from "./support/test.ts";

test("on a phone the sidebar is a drawer, which Escape and a tap outside close", async ({ signedIn, watch }) => {
  const page = await signedIn({ viewport: { width: 360, height: 740 }, hasTouch: true });
  const side = page.locator("#side");
  expect(await side.isVisible()).toBe(false);
  await page.getByRole("button", { name: "Menu" }).tap();
  await side.getByRole("link", { name: "Gallery" }).waitFor();
  expect(await side.locator("[aria-current=page]").innerText()).toBe("Overview");
  await watch.look(page);
  await page.keyboard.press("Escape");
  await side.waitFor({ state: "hidden" });
  await page.getByRole("button", { name: "Menu" }).tap();
  await side.waitFor();
  await page.touchscreen.tap(350, 400);
  await side.waitFor({ state: "hidden" });
});

test("a chosen theme stays, whatever the system prefers", async ({ signedIn, watch }) => {
  const page = await signedIn({ colorScheme: "light" });
  const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  expect(await ground()).toBe("rgb(255, 255, 255)");
  await (await openMenu(page)).getByRole("link", { name: "Dark" }).click();
  await page.locator("html[data-theme=dark]").waitFor();
  expect(await ground()).not.toBe("rgb(255, 255, 255)");
  await openMenu(page);
  await watch.look(page);
  await page.goto("/console/usage");
  expect(await ground()).not.toBe("rgb(255, 255, 255)");
});

test("a change is answered by a toast that goes after five seconds; its button is busy meanwhile", async ({ signedIn, watch }) => {
  const page = await signedIn();
  await page.clock.install();
  await page.goto("/console/account");
  const button = page.getByRole("button", { name: "Change the name" });
  const { promise: isLookedAt, resolve } = Promise.withResolvers<void>();
  await page.route("**/account/name", (route) => isLookedAt.then(() => route.continue()));
  await page.getByLabel("Name", { exact: true }).fill("Ann Other");
  const width = (await button.boundingBox())!.width;
  await button.click({ noWaitAfter: true });
  await page.clock.runFor(10);
  await page.locator("button[aria-busy=true]").waitFor();
  expect((await button.boundingBox())!.width).toBe(width);
  resolve();
  const toast = page.locator(".toast", { hasText: "The name is changed." });
  await toast.waitFor();
  await watch.look(page);
  await page.clock.runFor(4_900);
  expect(await toast.isVisible()).toBe(true);
  await page.clock.runFor(200);
  await toast.waitFor({ state: "detached" });
});

test("a lost connection is said once, and no longer when it is back; the page stays", { timeout: 60_000 }, async ({ signedIn, watch }) => {
  const page = await signedIn();
  await page.goto("/console/playground?model=imgA-4&prompt=Dunes+sandbox:slow");
  await page.locator("#run button[value=run]").click();
  await page.locator("#result progress").waitFor();
  watch.expect(/ERR_INTERNET_DISCONNECTED/);
  let failed = 0;
  page.on("requestfailed", () => failed++);
  await page.context().setOffline(true);
  const toast = page.locator(".toast", { hasText: "The connection is lost." });
  await toast.waitFor();
  await expect.poll(() => failed).toBeGreaterThan(1);
  expect(await toast.count()).toBe(1);
  await page.locator("#result progress").waitFor();
  await watch.look(page);
  await page.context().setOffline(false);
  await toast.waitFor({ state: "detached" });
  await page.locator("#result .shots img").waitFor({ timeout: 30_000 });
});

test("times are relative and amounts rounded, with the exact ones behind, in the user's time zone", async ({ signedIn, gateway }) => {
  const page = await signedIn({ timezoneId: "Asia/Tokyo" });
  const [id] = await makeTasks(gateway, page, [{ model: "imgA-4", prompt: "Refused sandbox:flag" }]);
  await page.goto("/console");
  const time = page.getByRole("row", { name: "Refused" }).locator("time");
  expect(await time.innerText()).toMatch(/^(now|\d min ago)$/);
  expect(await time.getAttribute("title")).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/);
  expect(await page.locator(".stat data").first().getAttribute("title")).toBe("100 USD");
  expect(await page.locator(".stat data").first().innerText()).toBe("$100.00");
  // Overview and gallery name a task by its prompt, not by its id.
  expect(await page.locator("main").innerText()).not.toContain("task_");
  await page.goto(`/console/tasks/${id}`);
  const clock = page.locator("time[data-clock]").first();
  const utc = new Date((await clock.getAttribute("datetime"))!);
  expect(await clock.innerText()).toBe(new Date(utc.getTime() + 9 * 3_600_000).toISOString().slice(11, 19));
});

test("an unknown page keeps the navigation, and a deep link waits for the sign-in", async ({ visitor, signedIn, watch }) => {
  const person = newPerson();
  const known = await signedIn({}, person);
  await known.goto("/console/");
  expect(new URL(known.url()).pathname).toBe("/console");
  watch.expect(/status of 404/);
  await known.goto("/console/nowhere");
  await known.getByRole("navigation").getByRole("link", { name: "Gallery" }).first().waitFor();
  const page = await visitor();
  await page.goto("/console/usage?days=7&by=reference");
  await page.getByLabel("E-mail").fill(person.email);
  await page.getByLabel("Password").fill(person.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Usage" }).waitFor();
  expect(page.url()).toContain("/console/usage?days=7&by=reference");
});

/** Elements of every page: the drawer of phones, the theme, toasts, busy buttons, exact times and amounts, navigation. */

import { signIn, startBatch } from "../../scripts/support/console-pages.ts";
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

test("on paper a page is dark on white in the dark theme too, with its title and without bars and buttons", async ({ signedIn }) => {
  const page = await signedIn({ viewport: { width: 794, height: 1123 } });
  await page.goto("/console/theme?to=dark");
  await page.goto("/console/usage");
  await page.emulateMedia({ media: "print" });
  expect(await page.evaluate(() => getComputedStyle(document.body).color)).toBe("rgb(23, 23, 28)");
  expect(await page.locator("h1").evaluate((title) => getComputedStyle(title).clipPath)).toBe("none");
  for (const part of [".top", ".side", ".head .seg"]) expect(await page.locator(part).isVisible(), part).toBe(false);
});

test("a change shows a toast for five seconds; its button is busy meanwhile", async ({ signedIn }) => {
  const page = await signedIn();
  await page.clock.install();
  await page.goto("/console/account");
  const button = page.getByRole("button", { name: "Change the name" });
  // An answer without content leaves the page as it is.
  await page.route("**/account/name", (route) => route.fulfill({ status: 204 }));
  await page.getByLabel("Name", { exact: true }).fill("Ann Other");
  const width = (await button.boundingBox())!.width;
  await button.click();
  await page.locator("button[aria-busy=true]").waitFor();
  expect((await button.boundingBox())!.width).toBe(width);
  await page.unroute("**/account/name");
  await page.reload();
  await page.getByLabel("Name", { exact: true }).fill("Ann Other");
  await button.click();
  const toast = page.locator(".toast", { hasText: "The name is changed." });
  await toast.waitFor();
  await page.clock.runFor(5_000);
  await toast.waitFor({ state: "detached" });
});

test("a lost connection shows one message until it is back; the page stays", async ({ signedIn, watch }) => {
  const page = await signedIn();
  await page.goto("/console/playground?model=imgA-4&prompt=Dunes+sandbox:slow");
  await page.locator("#run button[value=run]").click();
  await page.locator("#result progress").waitFor();
  watch.expect(/ERR_INTERNET_DISCONNECTED/);
  watch.expect(/htmx:error: Failed to fetch/);
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
  await page.locator("#state button").click();
  await page.getByText("You cancelled this run.").waitFor();
});

test("times are relative and amounts rounded, with the exact values as tooltips, in the user's time zone", async ({
  signedIn,
  gateway,
}) => {
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

test("on a phone the chosen tab is in the window, and the list's title has the button that adds to it", async ({ visitor, gateway }) => {
  const page = await visitor({ viewport: { width: 390, height: 844 } });
  await signIn(page, gateway.account);
  for (const path of ["/console/admin/accounts", "/console/admin/audit-log", "/console/audit-log"]) {
    await page.goto(path);
    const { left, right } = await page.locator(".tabs [aria-current]").evaluate((tab) => tab.getBoundingClientRect());
    expect(left, path).toBeGreaterThanOrEqual(0);
    expect(right, path).toBeLessThanOrEqual(390);
  }
  await page.goto("/console/keys");
  await page.locator(".head").getByRole("link", { name: "Create a key" }).click();
  await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("f-name");
  expect(await page.locator("#f-name").isVisible()).toBe(true);
});

test("at 320 px nothing is cut: the bars, tables, amounts of seven digits and the actions of a row", async ({
  visitor,
  signedIn,
  gateway,
}) => {
  const window = { viewport: { width: 320, height: 640 } };
  const stranger = await visitor(window);
  for (const path of ["/", "/docs", "/verify"]) {
    await stranger.goto(path);
    const bar = await stranger.locator(".pub").evaluate((bar) => {
      const around = bar.getBoundingClientRect();
      const parts = [...bar.querySelectorAll("a, button, summary")].filter((part) => part.checkVisibility());
      return parts.filter((part) => {
        const { top, bottom, left, right } = part.getBoundingClientRect();
        return top < around.top || bottom > around.bottom || left < 0 || right > innerWidth;
      }).length;
    });
    expect(bar, path).toBe(0);
  }
  const page = await signedIn(window);
  const email = await page.locator("#me-menu strong").textContent();
  const ask = (path: string, init: RequestInit = {}) =>
    fetch(`${gateway.baseUrl}/admin/accounts${path}`, {
      ...init,
      headers: { authorization: `Bearer ${gateway.adminToken}`, "content-type": "application/json" },
    });
  const { data } = (await (await ask(`?email=${encodeURIComponent(email ?? "")}`)).json()) as { data: { id: string }[] };
  expect((await ask(`/${data[0]?.id}`, { method: "PATCH", body: JSON.stringify({ quota: 1_234_567.89 }) })).ok).toBe(true);
  await makeTasks(gateway, page, [{ model: "imgA-4", prompt: "A dune" }]);
  await startBatch(page, 'custom_id,model,prompt\nlighthouse-at-dawn,imgA-4,"A dune"\n', "Autumn catalogue");
  await page.locator('#batch .pill[data-s="good"]').waitFor();
  const lines = `${page.url()}/lines`;
  await page.goto("/console/playground");
  const run = (await page.locator("#strip a").first().getAttribute("href"))!;
  const amounts = ".stat dd, .balance, .top";
  for (const [path, parts] of [
    ["/console", amounts],
    ["/console/usage", amounts],
    ["/console/billing", `${amounts}, .table`],
    ["/console/batches", ".table"],
    ["/console/files", ".table"],
    [lines, ".table"],
    [run, ".out > .tabs"],
  ] as const) {
    await page.goto(path);
    const cut = await page
      .locator(parts)
      .evaluateAll((all) =>
        all
          .filter((part) => part.scrollWidth > part.clientWidth || part.scrollHeight > part.clientHeight + 1)
          .map((part) => part.textContent),
      );
    expect(cut, path).toEqual([]);
  }
  await page.goto("/console/files");
  expect(await page.getByRole("link", { name: /batch/i }).and(page.locator("main tbody a")).first().isVisible()).toBe(true);
});

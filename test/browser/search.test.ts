/** The palette: opened by Ctrl-K on every page, driven by the keyboard; without script the same search is a page. */

import { expect, test } from "./support/test.ts";

test("Ctrl-K finds a guide, marks the word, and Enter opens it", async ({ signedIn, watch }) => {
  const page = await signedIn();
  const scripts: string[] = [];
  page.on("request", (request) => scripts.push(request.url()));
  await page.goto("/console/usage");
  expect(scripts.some((url) => url.includes("palette"))).toBe(false);
  await page.keyboard.press("Control+k");
  const palette = page.getByRole("dialog", { name: "Search" });
  const field = palette.getByRole("combobox");
  await field.waitFor();
  // Before anything is typed it offers pages and actions.
  await palette.getByRole("option", { name: "Start a batch" }).waitFor();
  await watch.look(page);
  await field.fill("idempot");
  const first = palette.getByRole("option").first();
  await first
    .locator("mark", { hasText: /idempot/i })
    .first()
    .waitFor();
  expect(await first.getAttribute("aria-selected")).toBe("true");
  expect(await field.getAttribute("aria-activedescendant")).toBe(await first.getAttribute("id"));
  await watch.look(page);
  await page.keyboard.press("ArrowDown");
  expect(await palette.getByRole("option").nth(1).getAttribute("aria-selected")).toBe("true");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/docs\/idempotency/);
  await page.getByRole("link", { name: "Search the docs" }).click();
  await page.getByRole("dialog", { name: "Search" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog", { name: "Search" }).waitFor({ state: "hidden" });
  // The slash opens it where the page has no search field of its own.
  await page.keyboard.press("/");
  await page.getByRole("dialog", { name: "Search" }).waitFor();
});

test("without script the field leads to a page that searches", async ({ visitor }) => {
  const page = await visitor({ javaScriptEnabled: false });
  await page.goto("/docs");
  await page.getByRole("link", { name: "Search the docs" }).click();
  await page.getByRole("searchbox", { name: "Search" }).fill("webhook signature");
  await page.getByRole("button", { name: "Search" }).click();
  expect(await page.locator(".hits a").count()).toBeGreaterThan(0);
  await page.locator(".hits a").first().click();
  expect(new URL(page.url()).pathname).toMatch(/^\/docs\//);
});

test("contents of the docs that go on below the window fade out", async ({ visitor }) => {
  const page = await visitor({ viewport: { width: 1280, height: 800 } });
  await page.goto("/docs");
  const nav = page.locator(".docs > nav").first();
  expect(await nav.evaluate((element) => element.scrollHeight > element.clientHeight)).toBe(true);
  expect(await nav.evaluate((element) => getComputedStyle(element).maskImage)).toContain("linear-gradient");
});

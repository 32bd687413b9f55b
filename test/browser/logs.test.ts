/** The log of requests in a browser: new ones appear while the page is live, and a request stands beside them until Escape. */

import { makeTasks } from "./support/own-tasks.ts";
import { expect, test } from "./support/test.ts";

test(
  "live: new requests appear on top, a request stays open beside them, arrows go to its neighbours, Escape closes it",
  {
    timeout: 180_000,
  },
  async ({ signedIn, gateway, watch }) => {
    const page = await signedIn();
    const image = (prompt: string) => ({ model: "imgA-4", prompt });
    const [first] = await makeTasks(gateway, page, [image("A dune")]);
    const rows = page.locator('tbody tr[id^="row-"]');
    const path = (id: string | undefined) => page.locator(`tbody a.path[href="/console/tasks/${id}"]`);
    // Requests appear some seconds after their answers.
    await expect
      .poll(
        async () => {
          await page.goto("/console/logs");
          return path(first).count();
        },
        { timeout: 60_000 },
      )
      .toBeGreaterThan(0);
    await page.getByRole("link", { name: "Live", exact: true }).click();
    await page.waitForURL("**/console/logs?live=on");
    const before = await rows.count();
    const [second] = await makeTasks(gateway, page, [image("A harbour")]);
    // The page was not loaded again: the mark stays.
    await page.evaluate(() => document.body.setAttribute("data-mark", ""));
    await path(second).first().waitFor({ timeout: 60_000 });
    expect(await rows.count()).toBeGreaterThan(before);
    expect(await page.locator("body[data-mark]").count()).toBe(1);

    await path(second).last().click();
    const drawer = page.locator("#drawer");
    await drawer.waitFor();
    expect(page.url()).toMatch(/live=on.*open=|open=.*live=on/);
    await watch.look(page);
    const opened = new URL(page.url()).searchParams.get("open");
    const [third] = await makeTasks(gateway, page, [image("A river")]);
    await path(third).first().waitFor({ timeout: 60_000 });
    // The list went on, and what is read stays.
    expect(await drawer.isVisible()).toBe(true);
    expect(await page.locator('tr[aria-current="true"]').getAttribute("id")).toBe(`row-${opened}`);
    await page.keyboard.press("ArrowRight");
    await page.waitForURL((url) => url.searchParams.get("open") !== opened);
    await drawer.waitFor();
    await page.keyboard.press("Escape");
    await expect.poll(() => drawer.count()).toBe(0);
    await page.getByRole("link", { name: "Stop live" }).click();
    await page.waitForURL("**/console/logs");
  },
);

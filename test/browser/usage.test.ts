/** The usage page's chart, drawn on the server from the numbers of the table below it. */

import type { Page } from "playwright-core";
import { signIn } from "../../scripts/support/console-pages.ts";
import { amountIn } from "./support/amounts.ts";
import { expect, test } from "./support/test.ts";

/** Each bar of the chart: its model's colour, left edge and height in screen pixels. */
const readBars = (page: Page) =>
  page.locator("#chart rect").evaluateAll((bars) =>
    bars.map((bar) => {
      const { left, top, bottom } = bar.getBoundingClientRect();
      return { fill: getComputedStyle(bar).fill, left, top, bottom };
    }),
  );

/** The rows of the day table for a model, by day. */
async function dayTable(page: Page): Promise<Map<string, number[]>> {
  const table = page.locator("#by-day");
  const models = (await table.locator("thead th").allTextContents()).slice(1, -1);
  const rows = await table.locator("tbody tr").all();
  const amounts = new Map<string, number[]>(models.map((model) => [model, []]));
  for (const row of rows)
    for (const [at, model] of models.entries()) {
      const [data] = await row.locator("td").nth(at).locator("data").all();
      if (data) amounts.get(model)!.push(Number(await data.getAttribute("value")));
    }
  return amounts;
}

for (const script of [true, false])
  test(`the chart has the table's numbers, ${script ? "with" : "without"} script`, async ({ visitor, gateway }) => {
    const page = await visitor({ colorScheme: "light", javaScriptEnabled: script });
    await signIn(page, gateway.account);
    await page.goto("/console/usage?days=7");
    await page.locator("details.more summary").click();
    const legend = await page.locator("#by-model tbody tr:has(rect)").all();
    expect(legend.length).toBeGreaterThan(1);
    const bars = await readBars(page);
    const byDay = await dayTable(page);
    let scale: number | undefined;
    for (const row of legend) {
      const model = (await row.locator("th").innerText()).trim();
      const fill = await row.locator("rect").evaluate((mark) => getComputedStyle(mark).fill);
      const own = bars.filter((bar) => bar.fill === fill);
      const charged = await amountIn(row);
      expect(own).toHaveLength(byDay.get(model)!.length);
      expect(Math.round(byDay.get(model)!.reduce((sum, units) => sum + units * 1e6, 0))).toBe(charged);
      // The height of every bar is proportional to its amount.
      const height = own.reduce((sum, { top, bottom }) => sum + bottom - top, 0);
      scale ??= height / charged;
      expect(height / charged).toBeCloseTo(scale, 6);
    }
    // The bars of a day are stacked without gaps and overlaps.
    for (const day of Map.groupBy(bars, ({ left }) => left).values())
      for (const [at, bar] of day.entries()) if (at > 0) expect(bar.bottom).toBeCloseTo(day[at - 1]!.top, 1);
    const colours = new Set(bars.map(({ fill }) => fill));
    expect(colours.size).toBe(legend.length);
  });

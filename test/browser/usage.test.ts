/** What script adds to the usage page: the chart, drawn from the table that is there without it. */

import { signIn } from "../../scripts/support/console-pages.ts";
import { expect, test } from "./support/test.ts";

const days = 7;
const dayMs = 86_400_000;

test("the chart has the table's numbers: the sums, and of each day what the mouse is over", async ({ visitor, gateway }) => {
  const page = await visitor({ colorScheme: "light" });
  await signIn(page, gateway.account);
  await page.goto(`/console/usage?days=${days}`);
  const table = page.locator("#by-day");
  const models = (await table.locator("thead th").allInnerTexts()).slice(1, -1);
  expect(models.length).toBeGreaterThan(1);
  /** A row's amounts by model, as the legend writes them. */
  const row = async (selector: string) => {
    const cells = await table.locator(selector).first().locator("td").allInnerTexts();
    return Object.fromEntries(models.map((model, at) => [model, cells[at]?.replace("–", "0")]));
  };
  const legend = async () => {
    const [, ...series] = await page.locator(".u-legend .u-series").all();
    const shown = series.map(async (one) => [await one.locator(".u-label").innerText(), await one.locator(".u-value").innerText()]);
    return Object.fromEntries(await Promise.all(shown)) as Record<string, string>;
  };
  await expect.poll(legend).toEqual(await row("tfoot tr"));

  const area = (await page.locator(".u-over").boundingBox())!;
  const over = (day: number) => page.mouse.move(area.x + (area.width * (day + 0.5)) / days, area.y + area.height / 2);
  const latest = Date.parse((await table.locator("tbody time").first().getAttribute("datetime"))!);
  await over((latest - Date.parse((await table.getAttribute("data-from"))!)) / dayMs);
  await expect.poll(legend).toEqual(await row("tbody tr"));
  await over(0);
  await expect.poll(legend).toEqual(Object.fromEntries(models.map((model) => [model, "0"])));

  /** Pixels in a colour of the bars: neither the axes nor the letters have one. */
  const painted = await page
    .locator("#chart .u-wrap canvas")
    .first()
    .evaluate((canvas: HTMLCanvasElement) => {
      const { data } = canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height);
      const fills = new Set(["11,99,196", "179,89,0", "26,127,55", "130,80,223"]);
      let count = 0;
      for (let at = 0; at < data.length; at += 4) if (fills.has(data.slice(at, at + 3).join(","))) count++;
      return count;
    });
  expect(painted).toBeGreaterThan(100);
});

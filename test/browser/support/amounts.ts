/** Amounts of money as pages show them, read back exactly. */

import type { Page } from "playwright-core";

/** `1,234.05 USD` in millionths. */
export function millionths(text: string): number {
  const [, units = "", fraction = ""] = /([\d,]+)(?:\.(\d{1,6}))? USD/.exec(text) ?? [];
  if (units === "") throw new Error(`No amount: ${text}`);
  return Number(units.replaceAll(",", "")) * 1e6 + Number(fraction.padEnd(6, "0"));
}

/** The amounts that a page shows large, by their names. */
export async function figures(page: Page): Promise<Record<string, number>> {
  const figures = await page.locator("dl.figures > div").all();
  const read = figures.map(async (figure) => [await figure.locator("dt").innerText(), millionths(await figure.locator("dd").innerText())]);
  return Object.fromEntries(await Promise.all(read)) as Record<string, number>;
}

/** What the overview shows now. */
export async function balance(page: Page): Promise<{ remaining: number; reserved: number; used: number }> {
  await page.goto("/console");
  const { Remaining: remaining, Reserved: reserved, Used: used } = await figures(page);
  return { remaining: remaining!, reserved: reserved!, used: used! };
}

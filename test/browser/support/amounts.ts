/** Amounts of money as pages show them, parsed exactly. */

import type { Locator, Page } from "playwright-core";

const toMillionths = (decimal: string) => Math.round(Number(decimal) * 1e6);

/** `$1,234.05` in a text, in millionths. */
export function millionths(text: string): number {
  const [, decimal = ""] = /\$([\d,]+(?:\.\d{1,6})?)/.exec(text) ?? [];
  if (decimal === "") throw new Error(`No amount: ${text}`);
  return toMillionths(decimal.replaceAll(",", ""));
}

/** The exact amount of an element, in millionths; also checks that the displayed amount is the same to the cent. */
export async function amountIn(place: Locator): Promise<number> {
  const data = place.locator("data").first();
  const exact = toMillionths((await data.getAttribute("value"))!);
  const shown = millionths(await data.innerText());
  if (Math.abs(exact - shown) > 5_000) throw new Error(`${await data.innerText()} is shown for ${exact} millionths`);
  return exact;
}

/** The amounts in a page's large figures, by label. */
async function figures(page: Page): Promise<Record<string, number>> {
  const figures = await page.locator("dl.stat", { has: page.locator("data") }).all();
  const read = figures.map(async (figure) => [await figure.locator("dt").innerText(), await amountIn(figure.locator("dd"))]);
  return Object.fromEntries(await Promise.all(read)) as Record<string, number>;
}

/** The value of a fact, by its label. */
export const fact = (page: Page, name: string): Locator =>
  page
    .locator("dl.facts dt")
    .filter({ hasText: new RegExp(`^${name}$`) })
    .locator("xpath=following-sibling::dd[1]");

/** The amounts that the usage page shows. */
export async function balance(page: Page): Promise<{ remaining: number; reserved: number; used: number }> {
  await page.goto("/console/usage");
  const { Remaining: remaining, Reserved: reserved, Used: used } = await figures(page);
  return { remaining: remaining!, reserved: reserved!, used: used! };
}

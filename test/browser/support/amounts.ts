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

/** The value of a fact, by its label. */
export const fact = (page: Page, name: string): Locator =>
  page
    .locator("dl.facts dt")
    .filter({ hasText: new RegExp(`^${name}$`) })
    .locator("xpath=following-sibling::dd[1]");

/** The amounts that the usage page shows: the balance, and in the small lines what is reserved and what was used since the beginning. */
export async function balance(page: Page): Promise<{ remaining: number; reserved: number; used: number }> {
  await page.goto("/console/usage");
  const figure = (name: string) => page.locator("dl.stat", { has: page.locator("dt", { hasText: name }) });
  const left = figure("Balance");
  return {
    remaining: await amountIn(left.locator("dd")),
    reserved: await amountIn(left.locator("small")),
    used: await amountIn(figure("Spent").locator("small")),
  };
}

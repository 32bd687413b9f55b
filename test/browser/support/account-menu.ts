/** The account menu, at the foot of the sidebar. */

import type { Locator, Page } from "playwright-core";

/** Opens the menu. */
export async function openMenu(page: Page): Promise<Locator> {
  await page.locator("[popovertarget=me-menu]").click();
  const menu = page.locator("#me-menu");
  await menu.waitFor();
  return menu;
}

/** Signs out with it, in any language. */
export async function signOut(page: Page): Promise<void> {
  await (await openMenu(page)).locator("form[action$='/sign-out'] button").click();
}

/** Every page of the console in every look: the watch holds what it finds against them. */

import { consolePages, looks, show, signIn } from "../../scripts/support/console-pages.ts";
import { expect, test } from "./support/test.ts";

test.for(consolePages)("$name is good in light, in the dark and on a phone", async ({ as, status, reach }, { visitor, gateway, watch }) => {
  if (status) watch.expect(new RegExp(`status of ${status}`));
  const page = await visitor();
  if (as === "demo") await signIn(page, gateway.account);
  await reach(page);
  expect(await page.locator("h1").count()).toBe(1);
  for (const look of looks) {
    await show(page, look);
    await watch.look(page);
  }
});

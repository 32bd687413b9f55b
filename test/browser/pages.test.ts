/** Every page of the console in every combination of size, theme and language, with the page checks. */

import type { BrowserContextOptions } from "playwright-core";
import { consolePages, looks, show, signIn, signUp } from "../../scripts/support/console-pages.ts";
import { expect, test } from "./support/test.ts";

/** One session of the demo account for all pages, created by the first test that needs it. */
let session: Promise<NonNullable<BrowserContextOptions["storageState"]>> | undefined;
// The first combination loads the page, and the checks run then.
const [{ colorScheme, viewport }, ...otherLooks] = looks;

test.for(consolePages)(
  "$name passes the page checks in the light and dark theme and on a phone",
  async ({ as, status, reach }, { visitor, gateway, watch }) => {
    if (status) watch.expect(new RegExp(`status of ${status}`));
    const demo = async () => {
      const page = await visitor();
      await signIn(page, gateway.account);
      return page.context().storageState();
    };
    const storageState = as === "demo" ? await (session ??= demo()) : undefined;
    const page = await visitor({ colorScheme, viewport, ...(storageState && { storageState }) });
    if (as === "new") await signUp(page);
    await reach(page);
    expect(await page.locator("h1").count()).toBe(1);
    for (const look of otherLooks) {
      await show(page, look);
      await watch.look(page);
    }
  },
);

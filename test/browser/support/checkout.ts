/** Stripe's pages, which the emulator of this run serves under Stripe's name. */

import type { Page } from "playwright-core";
import { inject } from "vitest";
import type { Watch } from "./watch.ts";

/** Lets a page go to Stripe and back. */
export async function openStripe(page: Page, watch: Watch): Promise<void> {
  watch.expect(/asked for https:\/\/checkout\.stripe\.com\//);
  await page.route("https://checkout.stripe.com/**", async (route) => {
    const { pathname } = new URL(route.request().url());
    await route.fulfill({ response: await page.request.fetch(inject("checkout") + pathname, { method: route.request().method() }) });
  });
}

/** A person presses the only button of Stripe's page, and returns. */
export async function finishAtStripe(page: Page, button: "Pay" | "Save card"): Promise<void> {
  await page.getByRole("heading", { name: "Stripe" }).waitFor();
  await page.getByRole("button", { name: button }).click();
  await page.getByRole("link", { name: "Return" }).click();
}

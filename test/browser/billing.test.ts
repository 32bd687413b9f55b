/** Billing: what the Pay button says, and the card of automatic top-up. */

import { finishAtStripe, openStripe } from "./support/checkout.ts";
import { expect, test } from "./support/test.ts";

test("the Pay button names the chosen amount, also without script", async ({ signedIn }) => {
  for (const javaScriptEnabled of [true, false]) {
    const page = await signedIn({ javaScriptEnabled });
    await page.goto("/console/billing");
    const pay = page.getByRole("button", { name: /^Pay/ });
    for (const [chosen, text] of [
      ["$50", "Pay $50.00"],
      ["$100", "Pay $100.00"],
      ["$10", "Pay $10.00"],
    ]) {
      await page.getByText(chosen!, { exact: true }).click();
      expect(await pay.innerText()).toBe(text);
    }
    await page.getByLabel("Another amount").fill("7");
    expect(await pay.innerText()).toBe("Pay with Stripe");
  }
});

test("automatic top-up is switched on with a card, which the page then names beside the ceiling", async ({ signedIn, watch }) => {
  const page = await signedIn();
  await openStripe(page, watch);
  await page.goto("/console/billing");
  await page.getByRole("switch", { name: "Automatic top-up" }).click();
  await finishAtStripe(page, "Save card");
  await page.getByText("Visa ending in 4242, stored at Stripe.").waitFor();
  await page.getByRole("progressbar", { name: /^Used in / }).waitFor();
  await page.getByText("$0.00 of $100.00", { exact: true }).waitFor();
});

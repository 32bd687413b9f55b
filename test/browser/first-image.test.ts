/** The way of a new user: sign up, top up, make the first image. */

import { amountIn } from "./support/amounts.ts";
import { finishAtStripe, openStripe } from "./support/checkout.ts";
import { measureWidth } from "./support/images.ts";
import { expect, newPerson, test } from "./support/test.ts";

test("a new user signs up, tops up 10 and has the first image in less than a minute", async ({ visitor, watch }) => {
  const page = await visitor();
  await openStripe(page, watch);
  const { name, email, password } = newPerson();
  const startedAt = performance.now();

  await page.goto("/console/sign-up");
  await page.getByLabel("Name").fill(name);
  await page.getByLabel("E-mail").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign up" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();

  await page.getByRole("link", { name: "Billing", exact: true }).click();
  const balance = () => amountIn(page.locator(".balance"));
  const before = await balance();
  await page.getByText("$10", { exact: true }).click();
  await page.getByRole("button", { name: "Pay" }).click();
  await finishAtStripe(page, "Pay");
  await page.getByText("Thank you.").waitFor();
  await page.getByRole("row").filter({ hasText: "Paid" }).getByText("$10.00").first().waitFor();
  expect(await balance()).toBe(before + 10_000_000);

  await page.getByRole("link", { name: "Playground", exact: true }).click();
  await page.getByLabel("Prompt").fill("A lighthouse at dawn");
  const run = page.locator("#run button[value=run]");
  const price = await amountIn(run);
  await run.click();
  const image = page.locator("#result .shots img").first();
  await image.waitFor({ timeout: 30_000 });
  await expect.poll(() => measureWidth(image)).toBeGreaterThan(0);
  expect(performance.now() - startedAt).toBeLessThan(60_000);
  expect(price).toBeGreaterThan(0);
  await page.goto("/console/billing");
  expect(await balance()).toBe(before + 10_000_000 - price);
});

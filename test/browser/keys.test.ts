/** From signing up to a key that pages on other hosts use, to its deletion. */

import { expect, newPerson, test } from "./support/test.ts";

test("a key is shown once, works from another origin, and is refused after its deletion", async ({ visitor, elsewhere, gateway }) => {
  const page = await visitor();
  const { name, email, password } = newPerson();
  await page.goto("/console");
  await page.getByRole("link", { name: "Sign up" }).click();
  await page.getByLabel("Name").fill(name);
  await page.getByLabel("E-mail").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign up" }).click();
  await page.getByRole("link", { name: "API keys" }).click();
  await page.getByLabel("Name").fill("A shop's server");
  await page.getByLabel("Quota").fill("2.5");
  await page.getByRole("button", { name: "Create a key" }).click();
  const secret = await page.locator(".secret code").innerText();
  expect(secret).toMatch(/^sk-\w{20,}$/);

  const shop = await elsewhere();
  expect(new URL(shop.url()).host).not.toBe(new URL(gateway.baseUrl).host);
  const balance = () =>
    shop.evaluate(
      async ([url, key]) => {
        const response = await fetch(`${url}/v1/balance`, { headers: { authorization: `Bearer ${key}` } });
        return { status: response.status, body: await response.json() };
      },
      [gateway.baseUrl, secret],
    );
  expect(await balance()).toMatchObject({ status: 200, body: { success: true, remain_balance: 2.5, used_balance: 0 } });

  await page.getByRole("link", { name: "I have saved it" }).click();
  const row = page.getByRole("row", { name: "A shop's server" });
  await row.getByText(secret.slice(0, 6)).waitFor();
  expect(await page.content()).not.toContain(secret);

  await row.getByRole("link", { name: "Delete" }).click();
  await page.getByRole("heading", { name: "Delete the key “A shop's server”?" }).waitFor();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByText("There are no keys yet.").waitFor();
  await expect.poll(balance, { timeout: 10_000, interval: 250 }).toMatchObject({ status: 401, body: { success: false } });
});

/** Passkeys in a real browser, with Chromium's virtual authenticator. */

import { signOut } from "./support/account-menu.ts";
import { expect, newPerson, test } from "./support/test.ts";

test("a passkey is added on the account page, signs in, and is deleted", async ({ visitor, gateway, watch }) => {
  // A passkey belongs to a host name, and the gateway's URL has an IP address.
  const baseURL = gateway.baseUrl.replace("127.0.0.1", "localhost");
  watch.expect(/asked for http:\/\/localhost:/);
  const page = await visitor({ baseURL });
  const browser = await page.context().newCDPSession(page);
  await browser.send("WebAuthn.enable");
  const { authenticatorId } = await browser.send("WebAuthn.addVirtualAuthenticator", {
    options: { protocol: "ctap2", transport: "internal", hasResidentKey: true, hasUserVerification: true, isUserVerified: true },
  });
  const { name, email, password } = newPerson();
  await page.goto("/console/sign-up");
  await page.getByLabel("Name").fill(name);
  await page.getByLabel("E-mail").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign up" }).click();
  await page.getByRole("link", { name: "Account", exact: true }).click();
  await page.getByLabel("Name of the passkey").fill("Laptop");
  await page.getByRole("button", { name: "Add a passkey" }).click();
  await page.getByText("The passkey is added.").waitFor();

  await signOut(page);
  await page.getByRole("button", { name: "Continue with a passkey" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();

  await signOut(page);
  await browser.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified: false });
  await page.getByRole("button", { name: "Continue with a passkey" }).click();
  await page.getByRole("alert").getByText("The passkey was not accepted.").waitFor();
  await browser.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified: true });
  await page.getByRole("button", { name: "Continue with a passkey" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();

  await page.getByRole("link", { name: "Account", exact: true }).click();
  await page.getByRole("button", { name: "Delete: Laptop" }).click();
  await page.getByText("The passkey is deleted.").waitFor();
  expect(await page.getByRole("button", { name: "Delete: Laptop" }).count()).toBe(0);
});

test("if passkeys are not available, no page offers them", async ({ visitor, signedIn }) => {
  for (const options of [{}, { javaScriptEnabled: false }]) {
    const stranger = await visitor(options);
    await stranger.goto("/console/sign-in");
    expect(await stranger.getByText("Continue with a passkey").isVisible()).toBe(false);
  }
  const page = await signedIn();
  await page.goto("/console/account");
  expect(await page.getByRole("button", { name: "Add a passkey" }).isVisible()).toBe(false);
});

/** Signing in and out: the demo account, a wrong password, without script, by keyboard. */

import type { Page } from "playwright-core";
import { signOut } from "./support/account-menu.ts";
import { tabTo } from "./support/keyboard.ts";
import { expect, newPerson, test } from "./support/test.ts";

async function signIn(page: Page, email: string, password: string): Promise<void> {
  await page.getByLabel("E-mail").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
}

test("the demo account of `npm start` signs in, sees its balance, and signs out", async ({ visitor, gateway }) => {
  const page = await visitor();
  await page.goto("/console");
  expect(new URL(page.url()).pathname).toBe("/console/sign-in");
  await signIn(page, gateway.account.email, gateway.account.password);
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page
    .getByText(/^\$[\d.,]+$/)
    .first()
    .waitFor();

  await signOut(page);
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await page.goto("/console/keys");
  expect(new URL(page.url()).pathname).toBe("/console/sign-in");
});

test("a wrong password is reported on the page, and a second attempt succeeds", async ({ visitor, watch, gateway }) => {
  const page = await visitor();
  await page.goto("/console/sign-in");
  watch.expect(/sign-in: the console says ".* status of 401/);
  await signIn(page, gateway.account.email, "not the password");
  await page.getByRole("alert").getByText("The e-mail address or the password is wrong.").waitFor();
  await signIn(page, gateway.account.email, gateway.account.password);
  await page.getByRole("heading", { name: "Overview" }).waitFor();
});

test("without script: signing up, creating and deleting a key, signing out", async ({ visitor }) => {
  const page = await visitor({ javaScriptEnabled: false });
  const { name, email, password } = newPerson();
  await page.goto("/console/sign-up");
  await page.getByLabel("Name").fill(name);
  await page.getByLabel("E-mail").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign up" }).click();
  await page.getByRole("link", { name: "API keys" }).click();
  await page.getByLabel("Name").fill("No script");
  await page.getByRole("button", { name: "Create a key" }).click();
  await page.getByText(/^sk-\w+$/).waitFor();
  await page.getByRole("link", { name: "I have saved it" }).click();
  await page.getByRole("row", { name: "No script" }).getByRole("link", { name: "Delete" }).click();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByText("There are no keys yet.").waitFor();
  await signOut(page);
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
});

test("by keyboard only: signing in and creating a key, with a visible focus at every stop", async ({ visitor, gateway }) => {
  const page = await visitor();
  await page.goto("/console/sign-in");
  await tabTo(page, "[name=email]");
  await page.keyboard.type(gateway.account.email);
  await tabTo(page, "[name=password]");
  await page.keyboard.type(gateway.account.password);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await tabTo(page, "nav a[href='/console/keys']");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "API keys" }).waitFor();
  await tabTo(page, "main a[href='#f-name']");
  await page.keyboard.press("Enter");
  await page.locator("main [name=name]:focus").waitFor();
  await page.keyboard.type("By keyboard");
  await tabTo(page, "main form button.primary");
  await page.keyboard.press("Enter");
  await page.getByText(/^sk-\w+$/).waitFor();
  await tabTo(page, "main a[href='/console/keys']");
  await page.keyboard.press("Enter");
  await page.getByRole("row", { name: "By keyboard" }).waitFor();
});

test("a field that the browser refuses shows its error below it, in the page's language, and takes the focus", async ({
  visitor,
  watch,
}) => {
  const page = await visitor();
  await page.goto("/console/sign-up");
  await page.getByRole("button", { name: "Sign up" }).click();
  const name = page.getByLabel("Name");
  const email = page.getByLabel("E-mail");
  expect(await name.getAttribute("aria-invalid")).toBe("true");
  expect(await name.evaluate((field) => field === document.activeElement)).toBe(true);
  const words = async (field: typeof name) => {
    const ids = ((await field.getAttribute("aria-describedby")) ?? "").split(" ");
    return page.locator(`#${ids.at(-1)}`).innerText();
  };
  expect(await words(name)).toBe("Fill in this field.");
  await watch.look(page);
  await name.fill("Ann");
  expect(await name.getAttribute("aria-invalid")).toBeNull();
  expect(await page.getByText("Fill in this field.").count()).toBe(2);
  await email.fill("ann");
  await page.getByLabel("Password").fill("short");
  await page.getByRole("button", { name: "Sign up" }).click();
  expect(await words(email)).toBe("Enter an address like name@example.com.");
  expect(await words(page.getByLabel("Password"))).toMatch(/^Enter at least \d+ characters\.$/);
  expect(await email.evaluate((field) => field === document.activeElement)).toBe(true);
  await page.goto("/console/language?to=ja");
  await page.goto("/console/sign-in");
  await page.locator("form.stack button").click();
  expect(await page.getByText("この項目を入力してください。").count()).toBe(2);
});

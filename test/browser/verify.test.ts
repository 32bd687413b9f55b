/** The page that verifies files: the file stays in the browser, and the answer is the gateway's. */

import type { Page } from "playwright-core";
import { signIn } from "../../scripts/support/console-pages.ts";
import { expect, test } from "./support/test.ts";

/** The bytes of the newest image of the demo account, which `/v1/verify` has known since soon after its end. */
async function ownImage(page: Page): Promise<Buffer> {
  await page.goto("/console/tasks?kind=image&status=completed");
  await page.goto((await page.locator(".tiles li > a[data-open]").first().getAttribute("href")) ?? "");
  const url = await page.locator(":is(.hero, .shots) img").first().getAttribute("src");
  return Buffer.from(await (await fetch(url ?? "")).arrayBuffer());
}

test("a file that was made here is recognised, a changed one is not, and neither is uploaded", async ({ visitor, gateway, watch }) => {
  watch.expect(/status of 404/);
  const owner = await visitor();
  await signIn(owner, gateway.account);
  const buffer = await ownImage(owner);
  const page = await visitor();
  await page.goto("/verify");
  const bodies: (Buffer | null)[] = [];
  page.on("request", (request) => bodies.push(request.postDataBuffer()));
  const drop = page.locator(".drop-big input");
  await drop.setInputFiles({ name: "quay.png", mimeType: "image/png", buffer });
  await page.getByRole("heading", { name: "Yes, made here by AI" }).waitFor();
  expect(await page.locator("#proof").textContent()).toContain("The file carries a credential");
  expect(await page.locator("#proof").textContent()).toContain("This gateway signed the file.");
  expect(await page.locator("#proof").textContent()).toContain("It says: made by a model.");
  expect(await page.locator("#proof").textContent()).toContain("Its certificate names “Generation gateway (test certificate)”.");
  expect(await page.locator("#proof").textContent()).toMatch(/It says that it was made on \d+ \w+ \d{4} at \d\d:\d\d UTC\./);
  await watch.look(page);
  await drop.setInputFiles({ name: "quay.png", mimeType: "image/png", buffer: Buffer.concat([buffer, Buffer.from([0])]) });
  await page.getByRole("heading", { name: "Not known here" }).waitFor();
  expect(bodies.length).toBeGreaterThan(0);
  expect(bodies.filter((body) => body !== null)).toEqual([]);
});

test("the card of a result's credential has the time and the digest, and reads who signed the file when it opens", async ({
  visitor,
  gateway,
  watch,
}) => {
  const page = await visitor();
  await signIn(page, gateway.account);
  await ownImage(page);
  const card = page.locator(".popcard").first();
  expect(await card.getByText("Signed by").isVisible()).toBe(false);
  await page.locator(".cred.on").first().click();
  await card.getByText("Generation gateway (test certificate)").waitFor();
  expect(await card.getByText("Made by a model", { exact: true }).isVisible()).toBe(true);
  const texts = await card.locator("dd:visible").allTextContents();
  expect(texts.map((text) => text.trim())).toEqual([
    expect.stringMatching(/\d{4}-\d\d-\d\d|UTC|\d:\d\d/),
    "Made by a model",
    "Generation gateway (test certificate)",
    expect.stringMatching(/UTC$/),
    expect.stringMatching(/^[0-9a-f]{4}…[0-9a-f]{4}$/),
  ]);
  await watch.look(page);
});

test("without script the page says how to ask, and offers no field that does nothing", async ({ visitor }) => {
  const page = await visitor({ javaScriptEnabled: false });
  await page.goto("/verify");
  expect(await page.locator("noscript").textContent()).toContain("sha256sum FILE");
  expect(await page.locator(".drop-big").isVisible()).toBe(false);
});

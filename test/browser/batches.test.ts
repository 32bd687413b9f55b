/** A batch in the browser: from a table to its results, without reloading a page, and its failed line again. */

import { signIn, startBatch } from "../../scripts/support/console-pages.ts";
import { tabTo } from "./support/keyboard.ts";
import { expect, test } from "./support/test.ts";

const table = [
  "custom_id,model,prompt,size",
  'north,imgA-4,"Tea fields, north",16:9',
  'south,imgA-4,"Tea fields, south",1:1',
  "shocking,imgA-4,A scene that the filter refuses sandbox:flag,1:1",
].join("\n");

test("a table becomes a batch whose page follows it to its end; the failed line is repeated for its named price", async ({
  visitor,
  gateway,
  watch,
}) => {
  const page = await visitor();
  await signIn(page, gateway.account);
  await startBatch(page, table, "Two fields");
  const first = page.url();
  // The page refreshes itself.
  await page.locator('#batch .pill[data-s="good"]').waitFor({ timeout: 60_000 });
  expect(page.url()).toBe(first);
  expect(await page.locator("#batch .reels img").count()).toBe(2);
  expect(await page.locator("#batch").textContent()).toContain("2 of 3");
  await watch.look(page);
  await page.getByRole("button", { name: /^Repeat 1 line · \$0\.03$/ }).click();
  await page.waitForURL((url) => url.href !== first && /\/batch_/.test(url.pathname));
  await page.getByRole("heading", { name: "Two fields (again)" }).waitFor();
  await page.locator('#batch .pill[data-s="good"]').waitFor({ timeout: 60_000 });
  expect(await page.locator("#batch").textContent()).toContain("0 of 1");
});

test("without script a table is checked, started and followed by reloading", async ({ visitor, gateway }) => {
  const page = await visitor({ javaScriptEnabled: false });
  await signIn(page, gateway.account);
  await startBatch(page, table, "Without script");
  expect(await page.locator("noscript a").first().getAttribute("href")).toContain("/console/batches/batch_");
  for (let round = 0; round < 60; round++) {
    if ((await page.locator('#batch .pill[data-s="good"]').count()) > 0) break;
    await page.reload();
  }
  expect(await page.locator("#batch").textContent()).toContain("2 of 3");
});

test("by keyboard only: from the menu to a batch that runs, with a visible focus at every stop", async ({ signedIn }) => {
  const page = await signedIn();
  const press = async (stop: string) => {
    await tabTo(page, stop);
    await page.keyboard.press("Enter");
  };
  await press("nav a[href='/console/batches']");
  await page.getByRole("heading", { name: "Batches", level: 1 }).waitFor();
  await press("main a[href='/console/batches/new']");
  await page.getByRole("heading", { name: "New batch" }).waitFor();
  await press("main a[href$='from=text']");
  await page.locator("#f-text").waitFor();
  await tabTo(page, "#f-text");
  await page.keyboard.insertText(table);
  await press("main form button.primary");
  await page.getByRole("button", { name: /^Start · \$0\.09$/ }).waitFor();
  await press("main form button.primary");
  await page.waitForURL("**/console/batches/batch_*");
});

/** An admin changes a model as JSON and as a form, and rolls back. */

import { expect, test } from "./support/test.ts";
import { signIn } from "../../scripts/support/console-pages.ts";

test("an admin finds the wrong line of an entry, mends it, saves it, and rolls back", async ({ visitor, gateway, watch }) => {
  watch.expect(/status of 400/);
  const page = await visitor();
  await signIn(page, gateway.account);
  await page.goto("/console/admin/models/_new");
  // One line, not one letter below the other.
  expect((await page.getByText("Nothing has been checked yet.").boundingBox())?.height).toBeLessThan(24);
  await page.locator("main [name=id]").fill("reef-text");
  await page.getByLabel("Body").selectOption("text");
  await page.getByRole("button", { name: "Show its prices" }).click();
  await page.getByLabel("Per million input tokens").fill("1.5");
  await page.getByLabel("Per million output tokens").fill("6");
  await page.getByRole("button", { name: "Add route" }).click();
  await page.getByLabel("Upstream model of route 1").fill("textA-1");
  await page.getByLabel("Provider of route 1").selectOption("sandbox");

  // The other view has what was typed.
  await page.getByRole("button", { name: "JSON" }).click();
  const text = page.locator("#f-text");
  expect(JSON.parse(await text.inputValue())).toEqual({
    kind: "text",
    price: { input: 1.5, output: 6 },
    routes: [{ provider: "sandbox", model: "textA-1" }],
  });
  await text.fill((await text.inputValue()).replace('"routes"', '"why": 1,\n  "rutes"'));
  await expect.poll(() => page.locator(".editor li").count()).toBe(6);
  await page.getByRole("button", { name: "Dry run" }).click();
  await page.getByText("2 to fix").waitFor();
  expect(await page.locator(".editor li.hot").allInnerTexts()).toEqual(["4", "5"]);
  await page.getByRole("link", { name: "Go to line 5" }).click();
  const selected = await text.evaluate((area: HTMLTextAreaElement) => area.value.slice(area.selectionStart, area.selectionEnd));
  expect(selected).toContain('"rutes"');
  await text.fill((await text.inputValue()).replace('  "why": 1,\n', "").replace("rutes", "routes"));
  await page.getByRole("button", { name: "Save and sell" }).click();
  await page
    .getByText("Revision 1 is saved")
    .or(page.getByText(/Revision \d+ is saved/))
    .first()
    .waitFor();

  await page.goto("/console/admin/models/reef-text");
  // The costs of its route have the same labels.
  const price = page.locator('[name="price.input"]');
  await price.fill("3");
  // Enter is a dry run: nothing is saved by accident.
  await price.press("Enter");
  await page.getByText("Can be saved").waitFor();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText(/Revision \d+ is saved/).waitFor();
  await page.getByRole("link", { name: "Revisions" }).click();
  await page.getByText("What changes").first().click();
  await page.getByRole("button", { name: /Roll back/ }).click();
  await page.getByText(/Revision \d+ is saved/).waitFor();
  expect(await price.inputValue()).toBe("1.5");
});

test("without script a model's form and JSON work the same", async ({ visitor, gateway }) => {
  const page = await visitor({ javaScriptEnabled: false });
  await signIn(page, gateway.account);
  await page.goto("/console/admin/models/imgB-4o-image");
  await page.getByLabel("Per image").fill("0.05");
  await page.getByRole("button", { name: "JSON" }).click();
  expect(JSON.parse(await page.locator("#f-text").inputValue())).toEqual({ price: { image: 0.05 } });
  await page.getByRole("button", { name: "Dry run" }).click();
  await page.getByText("Can be saved").waitFor();
});

/** The playground with script, without script and by keyboard: image inputs, price, code snippets, chat. */

import type { Page } from "playwright-core";
import { amountIn, balance, fact, figures, millionths } from "./support/amounts.ts";
import { tabTo } from "./support/keyboard.ts";
import { dropFile, widthOf, withImage } from "./support/images.ts";
import { expect, test } from "./support/test.ts";

const patience = { timeout: 60_000 };

const priceShown = async (page: Page) => (await figures(page))["Price"];
const result = (page: Page) => page.locator("#task :is(.hero, .shots) img");

test(
  "an image by drag and drop: the price updates while typing, and the task completes without a reload",
  patience,
  async ({ signedIn, watch }) => {
    const page = await signedIn();
    await page.getByRole("link", { name: "Playground", exact: true }).click();
    await page.getByLabel("Model").selectOption("imgC-3-pro-image-preview");
    await page.waitForURL("**/console/playground?model=imgC-3-pro-image-preview");
    const one = (await priceShown(page))!;
    await page.getByLabel("Prompt").fill('It\'s a lighthouse, "made" of sand');
    await page.getByLabel("Number").fill("2");
    await expect.poll(() => priceShown(page)).toBe(2 * one);
    await page.getByRole("combobox", { name: "Quality", exact: true }).selectOption("hd");
    await expect.poll(() => priceShown(page)).toBe(4 * one);
    const price = 4 * one;

    await withImage("the dunes.png", async (path) => {
      await dropFile(page.locator('[data-field="images"] [data-drop]'), path);
      const preview = page.getByRole("img", { name: "the dunes.png" });
      await expect.poll(() => widthOf(preview)).toBe(64);
      await page.locator("#code-curl").getByText("base64 < 'the dunes.png'").waitFor();
      await watch.look(page);
      await page.getByRole("button", { name: "Run", exact: true }).click();
      await page.waitForURL("**/console/tasks/task_*");
    });
    await page.evaluate(() => Object.assign(globalThis, { isSameDocument: true }));
    await page.locator("#task progress").waitFor();
    await result(page).nth(1).waitFor({ timeout: 20_000 });
    for (const image of await result(page).all()) await expect.poll(() => widthOf(image)).toBeGreaterThan(0);
    expect(await page.evaluate(() => "isSameDocument" in globalThis)).toBe(true);
    await fact(page, "Images").getByText("an uploaded image").waitFor();
    expect(await amountIn(fact(page, "Charged"))).toBe(price);
    await watch.look(page);
    expect(await balance(page)).toEqual({ remaining: 100e6 - price, reserved: 0, used: price });
  },
);

test("the same request as code: the copied text is the displayed text", async ({ signedIn }) => {
  const page = await signedIn({ permissions: ["clipboard-read", "clipboard-write"] });
  await page.goto("/console/playground?model=imgA-4");
  await page.getByLabel("Prompt").fill("A cat, d'accord?");
  await page.getByLabel("Number").fill("3");
  for (const [language, typed] of [
    ["curl", String.raw`"prompt": "A cat, d'\''accord?"`],
    ["JavaScript", `"prompt": "A cat, d'accord?"`],
    ["Python", `"prompt": "A cat, d'accord?"`],
  ] as const) {
    const program = page.locator("details", { has: page.getByText(language, { exact: true }) });
    if (language !== "curl") await program.locator("summary").click();
    const code = program.locator("pre");
    await expect.poll(() => code.innerText()).toContain(`"n": 3`);
    expect(await code.innerText()).toContain(typed);
    await program.getByRole("button", { name: "Copy" }).click();
    await page.locator(".toast", { hasText: "Copied" }).last().waitFor();
    expect((await page.evaluate(() => navigator.clipboard.readText())).trim()).toBe((await code.innerText()).trim());
  }
});

test("a chat is answered on the page, continues there, and shows its cost", async ({ signedIn, watch }) => {
  const page = await signedIn();
  await page.goto("/console/playground?model=textA-1");
  let used = 0;
  // The first form starts with instructions; the next ones with the conversation so far.
  for (const [place, question, answerPlace] of [
    [2, "What is a dune made of?", 2],
    [3, "And a lighthouse?", 4],
  ] as const) {
    await page.getByLabel(`Message ${place}`).fill(question);
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByLabel(`Message ${answerPlace + 1}`).waitFor();
    const answer = await page.locator("#answer .said").innerText();
    expect(answer).not.toBe("");
    expect(await page.getByLabel(`Message ${answerPlace}`).inputValue()).toBe(answer);
    expect(await page.getByLabel(`Message ${answerPlace - 1}`).inputValue()).toBe(question);
    used += millionths(await page.locator("#answer .meta").innerText());
  }
  await watch.look(page);
  expect(used).toBeGreaterThan(0);
  await expect.poll(() => balance(page), { timeout: 10_000 }).toEqual({ remaining: 100e6 - used, reserved: 0, used });
});

test("without script: a model's form, its price, and an image from a file", patience, async ({ signedIn }) => {
  const page = await signedIn({ javaScriptEnabled: false });
  await page.goto("/console/playground");
  await page.getByLabel("Model").selectOption("imgB-4o-image");
  await page.getByRole("button", { name: "Show the form" }).click();
  await page.waitForURL("**/console/playground?model=imgB-4o-image");
  const one = (await priceShown(page))!;
  await page.getByLabel("Prompt").fill("A lighthouse, no script");
  await page.getByLabel("Number").fill("3");
  await page.getByRole("button", { name: "Show price and code" }).click();
  await page.waitForURL("**/console/playground");
  expect(await priceShown(page)).toBe(3 * one);
  expect(await page.locator("#code-curl").innerText()).toContain("A lighthouse, no script");
  await withImage("dunes.png", async (path) => {
    await page.locator("input[type=file]").setInputFiles(path);
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.waitForURL("**/console/tasks/task_*");
  });
  const reload = page.getByRole("link", { name: "Reload to see the progress" });
  await reload.waitFor();
  while ((await result(page).count()) === 0) await reload.click();
  expect(await result(page).count()).toBe(3);
  for (const image of await result(page).all()) await expect.poll(() => widthOf(image)).toBeGreaterThan(0);
  expect(await balance(page)).toEqual({ remaining: 100e6 - 3 * one, reserved: 0, used: 3 * one });
});

test("by keyboard only: a model, its form, the image's file", patience, async ({ signedIn }) => {
  const page = await signedIn();
  await tabTo(page, "nav a[href='/console/playground']");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/console/playground");
  await tabTo(page, "form[method=get] select[name=model]");
  await page.keyboard.type("imgB");
  await page.waitForURL("**/console/playground?model=imgB-4o-image");
  await tabTo(page, "[name=prompt]");
  await page.keyboard.type("A lighthouse by keyboard");
  const before = (await priceShown(page))!;
  await tabTo(page, "[name=n]");
  await page.keyboard.press("ArrowUp");
  await expect.poll(() => priceShown(page)).toBe(2 * before);
  await tabTo(page, "button[value=run]");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/console/tasks/task_*");
  await result(page).nth(1).waitFor({ timeout: 20_000 });
  await tabTo(page, "#task a[download]");
  const [file] = await Promise.all([page.waitForEvent("download"), page.keyboard.press("Enter")]);
  expect(file.suggestedFilename()).toMatch(/^task_[\w-]+-1\.png$/);
  expect(await file.failure()).toBeNull();
});

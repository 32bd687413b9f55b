/** The playground with script, without script and by keyboard: image inputs, price, code, runs in place, comparisons. */

import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { amountIn, balance, fact } from "./support/amounts.ts";
import { dropFile, measureWidth, withImage } from "./support/images.ts";
import { tabTo } from "./support/keyboard.ts";
import { expect, test } from "./support/test.ts";

const runButton = (page: Page) => page.locator("#run button[value=run]");
const priceShown = (page: Page) => amountIn(runButton(page));
const result = (page: Page) => page.locator("#result .shots img");
/** Chooses one of a few values. */
const choose = (page: Page, group: string, value: string) =>
  page.getByRole("radiogroup", { name: group }).getByText(value, { exact: true }).click();

async function chooseModel(page: Page, model: string): Promise<void> {
  await page.getByLabel("Model", { exact: true }).selectOption(model);
  await page.locator(`#form[data-shown="${model}"]`).waitFor();
}

test("an image by drag and drop: the price updates while typing, what is typed survives another model and a refusal, the result appears in place", async ({
  signedIn,
  watch,
}) => {
  const page = await signedIn();
  await page.getByRole("link", { name: "Playground", exact: true }).click();
  await page.getByLabel("Prompt").fill('It\'s a lighthouse, "made" of sand');
  await withImage("the dunes.png", async (path) => {
    await dropFile(page.locator("#tray .drop"), path);
    const preview = page.getByRole("img", { name: "the dunes.png" });
    await expect.poll(() => measureWidth(preview)).toBe(64);
    await chooseModel(page, "imgC-3-pro-image-preview");
    const one = await priceShown(page);
    await choose(page, "Images to make", "2");
    await expect.poll(() => priceShown(page)).toBe(2 * one);
    await choose(page, "Quality", "HD");
    await expect.poll(() => priceShown(page)).toBe(4 * one);
    const price = 4 * one;
    await page.locator("label.tab", { hasText: "Code" }).click();
    await page.locator("#code-curl").getByText("base64 < 'the dunes.png'").waitFor();
    await watch.look(page);

    const prompt = await page.getByLabel("Prompt").inputValue();
    expect(prompt).toBe('It\'s a lighthouse, "made" of sand');
    await page.getByLabel("Prompt").fill("");
    await runButton(page).click();
    await page.locator("#form [data-focus]:focus").getByRole("link", { name: "Prompt" }).waitFor();
    await watch.look(page);
    await page.getByLabel("Prompt").fill(prompt);
    await runButton(page).click();
    await page.waitForURL("**/console/playground?run=task_*");
    await page.evaluate(() => Object.assign(globalThis, { isSameDocument: true }));
    await page.locator("#result progress").waitFor();
    expect(await page.locator("#form [data-focus], #form [aria-invalid=true]").count()).toBe(0);
    await watch.look(page);
    await result(page).nth(1).waitFor({ timeout: 30_000 });
    for (const image of await result(page).all()) await expect.poll(() => measureWidth(image)).toBeGreaterThan(0);
    expect(await page.evaluate(() => "isSameDocument" in globalThis)).toBe(true);
    expect(await amountIn(page.locator("#state"))).toBe(price);
    expect(await amountIn(page.locator("#balance-side"))).toBe(100e6 - price);
    await watch.look(page);
    // The form is unchanged, with its image.
    expect(await page.getByLabel("Prompt").inputValue()).toBe(prompt);
    expect(await preview.count()).toBe(1);
    await page.getByRole("link", { name: "Open task" }).click();
    await page.waitForURL("**/console/tasks/task_*");
    expect(await balance(page)).toEqual({ remaining: 100e6 - price, reserved: 0, used: price });
  });
});

test("images from the gallery and by URL have a role each, and can be removed", async ({ visitor, gateway, watch }) => {
  const page = await visitor();
  const { email, password } = gateway.account;
  await page.request.post("/console/sign-in", { form: { email, password }, headers: { origin: gateway.baseUrl } });
  await page.goto("/console/playground?model=vidC-1-0-pro-fast");
  await withImage("first.png", async (path) => {
    const file = { name: "first.png", mimeType: "image/png", buffer: await readFile(path) };
    const headers = { origin: gateway.baseUrl };
    expect((await page.request.post("/console/files", { multipart: { file, expires_in: "3600" }, headers })).status()).toBe(200);
  });
  await page.getByRole("button", { name: "Gallery and files" }).click();
  await page.locator(".picks button").first().waitFor();
  await watch.look(page);
  await page.getByRole("button", { name: "first.png" }).click();
  await expect.poll(() => measureWidth(page.getByRole("img", { name: "first.png" }))).toBe(64);
  await page.getByLabel("URL of an image").fill("https://pictures.example/last.png");
  await page.keyboard.press("Enter");
  const roles = page.getByLabel("Role of the image");
  await expect.poll(() => roles.count()).toBe(2);
  expect(await Promise.all([roles.nth(0).inputValue(), roles.nth(1).inputValue()])).toEqual(["first_frame", "last_frame"]);
  await page.locator("label.tab", { hasText: "JSON" }).click();
  await page.locator("#json-request").getByText('"https://pictures.example/last.png"').waitFor();
  await watch.look(page);
  await page
    .getByRole("button", { name: /^Remove the image/ })
    .first()
    .click();
  expect(await roles.count()).toBe(1);
  // Pasted anywhere on the form.
  await page.getByLabel("Prompt").evaluate((field) => {
    const clipboardData = new DataTransfer();
    clipboardData.items.add(new File([new Uint8Array(8)], "pasted.png", { type: "image/png" }));
    field.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true }));
  });
  await page.getByRole("button", { name: "Remove the image: pasted.png" }).waitFor();
  expect(await roles.count()).toBe(2);
});

test("the same request as code: the copied text is the displayed text", async ({ signedIn }) => {
  const page = await signedIn({ permissions: ["clipboard-read", "clipboard-write"] });
  await page.goto("/console/playground?model=imgA-4");
  await page.getByLabel("Prompt").fill("A cat, d'accord?");
  await choose(page, "Images to make", "3");
  await page.locator("label.tab", { hasText: "Code" }).click();
  for (const [id, typed, count] of [
    ["curl", String.raw`"prompt": "A cat, d'\''accord?"`, `"n": 3`],
    ["javascript", `"prompt": "A cat, d'accord?"`, `"n": 3`],
    ["python", `"prompt": "A cat, d'accord?"`, `"n": 3`],
    ["openai", `prompt: "A cat, d'accord?"`, "n: 3"],
  ] as const) {
    await page.locator(`.lang:has([value=code-${id}])`).click();
    const code = page.locator(`#code-${id}`);
    await expect.poll(() => code.innerText()).toContain(count);
    expect(await code.innerText()).toContain(typed);
    await page.locator(`[data-copy=code-${id}]`).click();
    await page.locator(".toast", { hasText: "Copied" }).last().waitFor();
    expect((await page.evaluate(() => navigator.clipboard.readText())).trim()).toBe((await code.innerText()).trim());
  }
});

test("two models are compared for one price, side by side, and cancelled together", async ({ signedIn, watch }) => {
  const page = await signedIn();
  await page.goto("/console/playground?model=vidC-1-0-pro-fast&prompt=Foam+sandbox:slow");
  const one = await priceShown(page);
  await page.getByText("Compare models").click();
  await page.getByRole("checkbox", { name: /^vidD-02/ }).check();
  await expect.poll(() => priceShown(page)).toBeGreaterThan(one);
  const both = await priceShown(page);
  // At most four at once.
  const more = [/^vidB-3.1-fast/, /^vidB-3.1-quality/].map((name) => page.getByRole("checkbox", { name }));
  for (const box of more) await box.check();
  const others = page.locator("fieldset[data-most] input");
  expect(await others.evaluateAll((all: HTMLInputElement[]) => all.every((box) => box.checked !== box.disabled))).toBe(true);
  await expect.poll(() => priceShown(page)).toBeGreaterThan(both);
  for (const box of more) await box.uncheck();
  await expect.poll(() => priceShown(page)).toBe(both);
  await runButton(page).click();
  await page.locator("#state").getByText("0 of 2 done").waitFor();
  await expect.poll(() => amountIn(page.locator("#balance-side"))).toBe(100e6 - both);
  await watch.look(page);
  await page.locator("#state").getByRole("button", { name: "Cancel" }).click();
  await page.locator("#state").getByText("2 of 2 done").waitFor();
  await watch.look(page);
  expect(await balance(page)).toEqual({ remaining: 100e6, reserved: 0, used: 0 });
});

test("three compared models stand in one row on a wide window", async ({ signedIn, watch }) => {
  const page = await signedIn({ viewport: { width: 1600, height: 900 } });
  await page.goto("/console/playground?model=vidC-1-0-pro-fast&prompt=Foam+sandbox:slow");
  await page.getByText("Compare models").click();
  for (const name of [/^vidD-02/, /^vidB-3.1-fast/]) await page.getByRole("checkbox", { name }).check();
  await runButton(page).click();
  await page.locator("#state").getByText("0 of 3 done").waitFor();
  const tops = await page.locator(".versus > li").evaluateAll((tiles) => tiles.map((tile) => tile.getBoundingClientRect().top));
  expect(tops).toHaveLength(3);
  expect(new Set(tops).size).toBe(1);
  await watch.look(page);
  await page.locator("#state").getByRole("button", { name: "Cancel" }).click();
  await page.locator("#state").getByText("3 of 3 done").waitFor();
});

test("without script: a model's form, its price, and an image from a file", async ({ signedIn }) => {
  const page = await signedIn({ javaScriptEnabled: false });
  await page.goto("/console/playground");
  await page.getByLabel("Prompt").fill("A lighthouse, no script");
  await page.getByLabel("Model", { exact: true }).selectOption("imgB-4o-image");
  await page.getByRole("button", { name: "Show the form" }).click();
  await page.locator('#form[data-shown="imgB-4o-image"]').waitFor();
  expect(await page.getByLabel("Prompt").inputValue()).toBe("A lighthouse, no script");
  // The drop zone needs the script; the fields below it do not.
  expect(await page.locator(".tray .drop").isVisible()).toBe(false);
  const one = await priceShown(page);
  await choose(page, "Images to make", "3");
  await page.getByRole("button", { name: "Show price and code" }).click();
  await expect.poll(() => priceShown(page)).toBe(3 * one);
  await page.locator("label.tab", { hasText: "Code" }).click();
  expect(await page.locator("#code-curl").innerText()).toContain("A lighthouse, no script");
  await withImage("dunes.png", async (path) => {
    await page.getByLabel("Image 1", { exact: true }).setInputFiles(path);
    await runButton(page).click();
    await page.waitForURL("**/console/playground?run=task_*");
  });
  while ((await result(page).count()) === 0) await page.reload();
  expect(await result(page).count()).toBe(3);
  for (const image of await result(page).all()) await expect.poll(() => measureWidth(image)).toBeGreaterThan(0);
  expect(await balance(page)).toEqual({ remaining: 100e6 - 3 * one, reserved: 0, used: 3 * one });
});

test("by keyboard only: a model, its form, a run that is cancelled, a run that is downloaded", async ({ signedIn }) => {
  const page = await signedIn();
  await tabTo(page, "nav a[href='/console/playground']");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/console/playground");
  await tabTo(page, "select[name=model]");
  await page.keyboard.type("imgB");
  await page.locator('#form[data-shown="imgB-4o-image"]').waitFor();
  await tabTo(page, "[name=prompt]");
  await page.keyboard.type("By keyboard sandbox:slow");
  await page.keyboard.press("Control+Enter");
  await page.locator("#result progress").waitFor();
  await tabTo(page, "#state button");
  await page.keyboard.press("Enter");
  await page.getByText("You cancelled this run.").waitFor();

  await page.getByLabel("Prompt").fill("A lighthouse by keyboard");
  const before = await priceShown(page);
  await tabTo(page, "[name=n]");
  await page.keyboard.press("ArrowRight");
  await expect.poll(() => priceShown(page)).toBe(2 * before);
  await tabTo(page, "#run button[value=run]");
  await page.keyboard.press("Enter");
  await result(page).nth(1).waitFor({ timeout: 30_000 });
  await tabTo(page, ".shots a[download]");
  const [file] = await Promise.all([page.waitForEvent("download"), page.keyboard.press("Enter")]);
  expect(file.suggestedFilename()).toMatch(/^task_[\w-]+-1\.png$/);
  expect(await file.failure()).toBeNull();
  await page.getByRole("link", { name: "Open task" }).click();
  await page.waitForURL("**/console/tasks/task_*");
  expect(await amountIn(fact(page, "Charged"))).toBe(2 * before);
  // The strip leads back to either run.
  await page.goBack();
  await page.locator("#strip a[data-s=cancelled]").click();
  await page.getByText("You cancelled this run.").waitFor();
});

test("a run has its place before the gateway answers, a refused one gives it back, and the tab shows the progress", async ({
  signedIn,
}) => {
  const page = await signedIn();
  await page.goto("/console/playground?model=imgA-4&prompt=A+harbour+sandbox:slow");
  let answer = () => {};
  await page.route("**/console/playground", async (route) => {
    if (route.request().method() !== "POST" || !route.request().postData()?.includes('"do"\r\n\r\nrun')) return route.continue();
    await new Promise<void>((resolve) => (answer = resolve));
    await route.continue();
  });
  await choose(page, "Aspect ratio", "9:16");
  await choose(page, "Images to make", "2");
  await runButton(page).click();
  await expect.poll(() => page.locator("#result .wait.r-9-16").count()).toBe(2);
  expect(await page.locator("#result").innerText()).toContain("Sent");
  answer();
  await page.waitForURL("**/console/playground?run=task_*");
  await expect.poll(() => page.title()).toMatch(/^\d+\s*% · /);
  await page.locator("#state button").click();
  await page.getByText("You cancelled this run.").waitFor();
  await expect.poll(() => page.title()).not.toContain("%");

  await page.getByLabel("Prompt").fill("");
  await runButton(page).click();
  await page.locator("#result .wait").first().waitFor();
  answer();
  await page.locator("#form [data-focus]:focus").waitFor();
  await page.getByText("You cancelled this run.").waitFor();
  expect(await page.locator("#result .wait").count()).toBe(0);
});

test("a video that is done while the page is hidden is notified, once the user has agreed to it", async ({ signedIn }) => {
  const page = await signedIn();
  await page.addInitScript(() => {
    const shown: string[] = [];
    class Told extends EventTarget {
      static permission = "default";
      static requestPermission = async () => Promise.resolve((Told.permission = "granted"));
      constructor(text: string) {
        super();
        shown.push(text);
      }
    }
    Object.assign(globalThis, { Notification: Told, shown });
  });
  await page.goto("/console/playground?model=vidD-02&prompt=A+harbour");
  await runButton(page).click();
  await page.getByRole("button", { name: "Notify me" }).click({ timeout: 60_000 });
  await runButton(page).click();
  await page.locator("#result progress[data-tab]").waitFor();
  await page.evaluate(() => Object.defineProperty(document, "hidden", { get: () => true }));
  await expect
    .poll(() => page.evaluate(() => (globalThis as unknown as { shown: string[] }).shown), { timeout: 60_000 })
    .toEqual(["Your video is done"]);
});

test("the playground shows earlier runs as thumbnails: it loads less than 200 KB of images", async ({ visitor, gateway }) => {
  const page = await visitor();
  const { email, password } = gateway.account;
  await page.request.post("/console/sign-in", { form: { email, password }, headers: { origin: gateway.baseUrl } });
  let bytes = 0;
  const loading: Promise<void>[] = [];
  page.on("response", (response) => {
    if (response.request().resourceType() !== "image" || new URL(response.url()).pathname.startsWith("/console/static/")) return;
    loading.push(
      response.body().then((body) => {
        bytes += body.length;
      }),
    );
  });
  await page.goto("/console/playground", { waitUntil: "networkidle" });
  await page.locator("#strip img").nth(2).waitFor();
  await Promise.all(loading);
  expect(await page.locator('#strip img:not([src^="/console/thumbnails/"])').count()).toBe(0);
  expect(bytes).toBeGreaterThan(0);
  expect(bytes).toBeLessThan(200_000);
});

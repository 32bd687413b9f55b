/** A chat in the playground: an answer that appears while it arrives, is stopped, and is requested with and without script. */

import { balance, millionths } from "./support/amounts.ts";
import { dropFile, measureWidth, withImage } from "./support/images.ts";
import { expect, test } from "./support/test.ts";

const patience = { timeout: 60_000 };

test(
  "a conversation is answered in place, shows the cost of each answer, and keeps its text when the model changes",
  patience,
  async ({ signedIn, watch }) => {
    const page = await signedIn();
    await page.goto("/console/playground?model=textA-1");
    await page.evaluate(() => Object.assign(globalThis, { isSameDocument: true }));
    let used = 0;
    for (const [at, question] of ["What is a dune made of?", "And a lighthouse?"].entries()) {
      await page.getByLabel("Message", { exact: true }).fill(question);
      await page.keyboard.press("Control+Enter");
      await page.locator(".me-said").nth(at).getByText(question).waitFor();
      const cost = page.locator(".chat > li > .meta").nth(at);
      await cost.waitFor();
      expect(await page.locator(`#said-${2 * at + 2}`).innerText()).not.toBe("");
      used += millionths(await cost.innerText());
      await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("f-say");
    }
    await watch.look(page);
    expect(await page.evaluate(() => "isSameDocument" in globalThis)).toBe(true);
    // Requested again: the new answer replaces the old one and costs as much.
    await page.getByLabel("Message", { exact: true }).fill("Still being written");
    await page.getByRole("button", { name: "Ask again" }).click();
    await page.locator("#answer").waitFor();
    await page.locator("#said-4").waitFor();
    used += millionths(await page.locator(".chat > li > .meta").nth(1).innerText());
    expect([await page.locator(".chat > li").count(), await page.getByLabel("Message", { exact: true }).inputValue()]).toEqual([
      4,
      "Still being written",
    ]);
    await page.getByLabel("Message", { exact: true }).fill("Not sent yet");
    await page.getByLabel("Model", { exact: true }).selectOption("textA-1-mini");
    await page.locator('#form[data-shown="textA-1-mini"]').waitFor();
    expect(await page.getByLabel("Message", { exact: true }).inputValue()).toBe("Not sent yet");
    expect(await page.locator(".me-said").count()).toBe(2);
    await expect.poll(() => balance(page), { timeout: 10_000 }).toEqual({ remaining: 100e6 - used, reserved: 0, used });
  },
);

test("a stopped answer restores the typed text, and the conversation can continue", patience, async ({ signedIn, watch }) => {
  const page = await signedIn();
  await page.goto("/console/playground?model=textA-1-mini");
  const line = page.getByLabel("Message", { exact: true });
  // The sandbox waits five seconds before this answer.
  await line.fill("Tell me everything sandbox:slow");
  await page.getByRole("button", { name: "Send" }).click();
  await page.locator(".me-said").getByText("Tell me everything").waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByRole("button", { name: "Send" }).waitFor();
  await watch.look(page);
  expect(await line.inputValue()).toBe("Tell me everything sandbox:slow");
  expect(await page.locator(".me-said").count()).toBe(0);
  await line.fill("Shorter, then.");
  // Two images, one dropped and one chosen, of which one is removed again.
  await withImage("dune.png", async (path) => {
    await dropFile(page.locator("#composer"), path);
    await page.locator("#attached li").waitFor();
    await page.getByLabel("Image", { exact: true }).setInputFiles(path);
    await page.getByRole("button", { name: "Remove the image: dune.png" }).nth(1).click();
  });
  await line.press("Control+Enter");
  await page.locator("#said-2").getByText("I saw 1 image.").waitFor();
  expect(await measureWidth(page.locator(".chat .attached img"))).toBe(64);
});

test("without script a chat is answered on the page and continues there", patience, async ({ signedIn }) => {
  const page = await signedIn({ javaScriptEnabled: false });
  await page.goto("/console/playground?model=textA-1");
  const send = () => page.getByRole("button", { name: "Send" }).click();
  for (const [at, question] of ["What is a dune made of?", "And a lighthouse?"].entries()) {
    await page.getByLabel("Message", { exact: true }).fill(question);
    if (at === 1) await withImage("dune.png", (path) => page.getByLabel("Image", { exact: true }).setInputFiles(path).then(send));
    else await send();
    await page.locator(".chat > li > .meta").nth(at).waitFor();
    expect(await page.locator("#answer").innerText()).toContain(at === 1 ? "I saw 1 image." : question);
  }
  await page.getByRole("button", { name: "Ask again" }).click();
  await page.locator("#answer").getByText("I saw 1 image.").waitFor();
  expect([await page.locator(".me-said").count(), await page.locator(".chat > li").count()]).toEqual([2, 4]);
});

/** A chat in the playground: a conversation that is written while it arrives, stopped, and sent with and without script. */

import { balance, millionths } from "./support/amounts.ts";
import { expect, test } from "./support/test.ts";

const patience = { timeout: 60_000 };

test(
  "a conversation is answered in place, shows the cost of each answer, and keeps its words in another model",
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
    await page.getByLabel("Message", { exact: true }).fill("Not sent yet");
    await page.getByLabel("Model", { exact: true }).selectOption("textA-1-mini");
    await page.locator('#form[data-shown="textA-1-mini"]').waitFor();
    expect(await page.getByLabel("Message", { exact: true }).inputValue()).toBe("Not sent yet");
    expect(await page.locator(".me-said").count()).toBe(2);
    await expect.poll(() => balance(page), { timeout: 10_000 }).toEqual({ remaining: 100e6 - used, reserved: 0, used });
  },
);

const question = "Tell me everything about dunes. ".repeat(100);

test("an answer is stopped: what had arrived stays, and the conversation goes on", patience, async ({ signedIn, watch }) => {
  const page = await signedIn();
  await page.goto("/console/playground?model=textA-1-mini");
  await page.getByLabel("Message", { exact: true }).fill(question);
  await page.getByRole("button", { name: "Send" }).click();
  // The sandbox answers a long question for some seconds.
  await page.locator("#answer").getByText("This is the sandbox").waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByText("Stopped. The received part is charged.").waitFor();
  await watch.look(page);
  const said = await page.locator("#said-2").innerText();
  expect(said).toContain("This is the sandbox");
  await page.getByRole("button", { name: "Send" }).waitFor();
  expect(await page.locator(".me-said").innerText()).toBe(question.trim());
  // What arrived is part of the conversation, and the next message is answered.
  expect(await page.locator('[name="messages.2.content"]').inputValue()).toContain(said.slice(0, 40));
  await page.getByLabel("Message", { exact: true }).fill("Shorter, then.");
  await page.keyboard.press("Control+Enter");
  await page.locator("#said-4").waitFor();
  await expect.poll(async () => (await balance(page)).reserved, { timeout: 15_000 }).toBe(0);
  expect((await balance(page)).used).toBeGreaterThan(0);
});

test("without script a chat is answered on the page and continues there", patience, async ({ signedIn }) => {
  const page = await signedIn({ javaScriptEnabled: false });
  await page.goto("/console/playground?model=textA-1");
  for (const [at, question] of ["What is a dune made of?", "And a lighthouse?"].entries()) {
    await page.getByLabel("Message", { exact: true }).fill(question);
    await page.getByRole("button", { name: "Send" }).click();
    await page.locator(".chat > li > .meta").nth(at).waitFor();
    expect(await page.locator("#answer").innerText()).not.toBe("");
  }
  expect(await page.locator(".me-said").count()).toBe(2);
});

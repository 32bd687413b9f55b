/** Chats in the playground and on the chat page: answers that appear while they arrive, are stopped, and are requested with and without script. */

import { looks, signIn } from "../../scripts/support/console-pages.ts";
import { balance, millionths } from "./support/amounts.ts";
import { dropFile, measureWidth, withImage } from "./support/images.ts";
import { expect, newPerson, test } from "./support/test.ts";

test("a conversation is answered in place, shows the cost of each answer, and keeps its text when the model changes", async ({
  signedIn,
  watch,
}) => {
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
  await expect.poll(() => balance(page)).toEqual({ remaining: 100e6 - used, reserved: 0, used });
});

test("a stopped answer restores the typed text, and the conversation can continue", async ({ signedIn, watch }) => {
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

test("without script a chat is answered on the page and continues there", async ({ signedIn }) => {
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

test("the chat page: answers arrive in place, side by side, are stopped and asked again, with Markdown and code to copy", async ({
  signedIn,
  watch,
}) => {
  const page = await signedIn();
  await page.getByRole("link", { name: "Chat", exact: true }).click();
  await page.waitForURL("**/console/chat");
  await page.evaluate(() => Object.assign(globalThis, { isSameDocument: true }));
  const line = page.getByLabel("Message", { exact: true });
  await line.fill("- one\n- **two**\n\n```python\nprint(1) # why\n```\n<img src=x onerror=alert(1)>");
  await page.keyboard.press("Control+Enter");
  await page.waitForURL("**/console/chat/conv_*");
  await page.locator(".md .code .k").getByText("print").waitFor();
  expect(await page.locator(".md li strong").innerText()).toBe("two");
  expect(await page.locator(".md img").count()).toBe(0);
  expect(await page.evaluate(() => "isSameDocument" in globalThis)).toBe(true);
  expect(await page.title()).toBe("one · Gateway");
  await watch.look(page);
  await page.getByRole("button", { name: "Side by side" }).click();
  await page.locator("select[name=model]").nth(1).waitFor();
  await line.fill(`Compare them\n\`\`\`\n${"a line of code that is wide ".repeat(9)}\n\`\`\``);
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByRole("button", { name: "Go on with this" }).nth(1).waitFor();
  for (const { viewport } of looks) {
    await page.setViewportSize(viewport);
    // Code scrolls in its own box: an answer is never wider than its half.
    expect(await page.locator("#talk").evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0);
  }
  await page.setViewportSize(looks[0].viewport);
  await page.getByRole("button", { name: "Go on with this" }).nth(1).click();
  await page.getByRole("button", { name: "Going on with this" }).waitFor();
  await watch.look(page);
  // The sandbox waits five seconds before this answer.
  await line.fill("Slowly sandbox:slow");
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByText("Stopped.").waitFor();
  await page.locator(".redo summary").nth(2).click();
  await page.locator(".redo[open] textarea").fill("Quickly");
  await page.locator(".redo[open] button").click();
  await page.locator("#said-2-0").getByText("Quickly").waitFor();
  expect(await page.locator(".chat > li").count()).toBe(3);
  await page.reload();
  await page.locator("#said-2-0").getByText("Quickly").waitFor();
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Export as Markdown" }).click()]);
  expect(file.suggestedFilename()).toMatch(/^one\.md$/);
});

test("a question stays on the chat page when the session or the connection has ended, and is sent when both are back", async ({
  signedIn,
  watch,
}) => {
  watch.expect(/status of 401/);
  watch.expect(/ERR_INTERNET_DISCONNECTED|Failed to fetch/);
  const person = newPerson();
  const page = await signedIn({}, person);
  await page.goto("/console/chat");
  const line = page.getByLabel("Message", { exact: true });
  await page.request.post("/console/sign-out", { headers: { origin: new URL(page.url()).origin } });
  await line.fill("A long question");
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByRole("alert").getByText("You are signed out.").waitFor();
  await page.context().setOffline(true);
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByText("The connection is lost.").waitFor();
  await page.context().setOffline(false);
  expect(await line.inputValue()).toBe("A long question");
  await watch.look(page);
  const other = await page.context().newPage();
  await signIn(other, person);
  await page.getByRole("button", { name: "Send" }).click();
  await page.locator(".said").getByText("A long question").waitFor();
  expect(await page.getByText("You are signed out.").count()).toBe(0);
});

test.for(["/console/chat", "/console/playground?model=textA-1"])(
  "an answer whose connection is lost on %s can be stopped once the gateway answers again",
  async (path, { signedIn, watch }) => {
    watch.expect(/the answer broke off/);
    const page = await signedIn();
    await page.goto(path);
    // The answer of the first request ends before its last event, as after a lost connection.
    await page.route(
      (url) => /^\/console\/(chat|playground)$/.test(url.pathname),
      async (route) => {
        if (route.request().method() !== "POST") return route.fallback();
        const response = await route.fetch();
        const events = (await response.text()).split("\n\n");
        await page.unroute("**");
        await route.fulfill({
          response,
          body: events
            .slice(0, 2)
            .map((event) => `${event}\n\n`)
            .join(""),
        });
      },
    );
    await page.getByLabel("Message", { exact: true }).fill("What is a dune made of?");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("The connection is lost.").waitFor();
    await watch.look(page);
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByRole("button", { name: "Send" }).waitFor();
    expect(await page.getByText("The connection is lost.").count()).toBe(0);
  },
);

test("the chat page without script", async ({ signedIn }) => {
  const page = await signedIn({ javaScriptEnabled: false });
  await page.goto("/console/chat");
  await page.getByLabel("Message", { exact: true }).fill("What is a dune made of?");
  await page.getByRole("button", { name: "Send" }).click();
  await page.waitForURL("**/console/chat/conv_*");
  await page.locator(".md").getByText("What is a dune made of?").waitFor();
  await page.getByRole("button", { name: "Ask again" }).last().click();
  await page.locator(".chat .meta").getByText("in,").waitFor();
  await page.getByRole("link", { name: "Overview" }).click();
});

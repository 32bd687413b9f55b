/** A video from the playground to its page, playback and a remix; a running task is cancelled; the balance at each step. */

import { amountIn, balance, fact, millionths } from "./support/amounts.ts";
import { expect, test } from "./support/test.ts";

// A video takes six seconds, and each page is checked.
test("a video appears on its page, plays with sound, is remixed, and the remix is cancelled", async ({ signedIn, watch }) => {
  const page = await signedIn();
  const start = await balance(page);
  expect(start).toEqual({ remaining: 100e6, reserved: 0, used: 0 });

  await page.goto("/console/playground");
  await page.getByLabel("Model", { exact: true }).selectOption("vidA-2");
  await page.waitForURL("**/console/playground?model=vidA-2");
  const run = page.locator("#run button[value=run]");
  const priceShown = () => amountIn(run);
  const price = 1.5 * (await priceShown()); // the shown price is for ten seconds, the video has fifteen
  await page.getByLabel("Prompt").fill("Foam on the sand");
  await page.getByText("Advanced").click();
  await page.getByLabel("Thumbnail").check();
  await page.getByRole("radiogroup", { name: "Length" }).getByText("15 s").click();
  await expect.poll(priceShown).toBe(price);
  await run.click();
  await page.waitForURL("**/console/playground?run=task_*");
  await page.goto(page.url().replace("playground?run=", "tasks/"));
  const id = await page.locator("#task-id").textContent();
  await page.getByRole("button", { name: "Cancel the task" }).waitFor();
  expect(await amountIn(fact(page, "Reserved"))).toBe(price);
  const video = page.locator("#task video");
  await video.waitFor();
  await watch.look(page);
  // The space key starts the player with sound, like a click.
  await video.press(" ");
  const readPlayer = () =>
    video.evaluate((element: HTMLVideoElement & { webkitAudioDecodedByteCount: number; captureStream(): MediaStream }) => ({
      isReady: element.readyState >= HTMLMediaElement.HAVE_CURRENT_DATA,
      isPlaying: !element.paused && !element.muted && element.currentTime > 0.2,
      width: element.videoWidth,
      height: element.videoHeight,
      sounds: element.captureStream().getAudioTracks().length,
      isHeard: element.webkitAudioDecodedByteCount > 0,
    }));
  await expect.poll(readPlayer).toEqual({ isReady: true, isPlaying: true, width: 1280, height: 720, sounds: 1, isHeard: true });
  expect(await page.locator("[data-countdown] strong").innerText()).toMatch(/23 h 59 m/);

  await page.getByRole("link", { name: "Remix", exact: true }).click();
  await page.getByLabel("What should be different?").fill("By night sandbox:slow");
  const length = page.getByLabel("Model, duration, price");
  await length.selectOption("vidA-2/15");
  const remixPrice = millionths(await length.locator("option:checked").innerText());
  await page.getByRole("button", { name: "Remix", exact: true }).click();
  expect(await fact(page, "Remix of").getByRole("link").getAttribute("title")).toBe(id);
  const whileRunning = { remaining: start.remaining - price - remixPrice, reserved: remixPrice, used: price };
  expect(await balance(page)).toEqual(whileRunning);

  await page.getByRole("link", { name: "Gallery", exact: true }).click();
  const card = page.locator("#tasks li", { hasText: "By night" });
  await card.locator("progress").waitFor();
  await card.getByRole("link").first().click();
  await page.getByRole("button", { name: "Cancel the task" }).click();
  const back = page.locator("#task").getByText("was returned");
  expect(millionths(await back.innerText())).toBe(remixPrice);
  expect(await balance(page)).toEqual({ remaining: start.remaining - price, reserved: 0, used: price });
});

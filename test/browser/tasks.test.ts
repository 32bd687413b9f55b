/** A film on its task's page: it comes by itself, plays, is remixed and made a character of; a task that runs is cancelled. */

import { signIn } from "../../scripts/support/console-pages.ts";
import { expect, test } from "./support/test.ts";

// A film takes its six seconds, and each of the pages is looked at.
const patience = { timeout: 60_000 };

test(
  "a film appears and plays on its page, is remixed, and the remix cancelled, without a reload",
  patience,
  async ({ visitor, gateway, watch }) => {
    const page = await visitor();
    await signIn(page, gateway.account);
    const submitted = await page.request.post("/v1/videos/generations", {
      data: { model: "vidA-2", prompt: "Foam on the sand", metadata: { thumbnail: true } },
      headers: { authorization: `Bearer ${gateway.account.apiKey}` },
    });
    const { id } = (await submitted.json()) as { id: string };
    await page.goto("/console/tasks");
    const card = page.locator(`#${id}`);
    await card.locator("progress").waitFor();
    await card.getByRole("link").click();
    await page.getByRole("button", { name: "Cancel the task" }).waitFor();
    const video = page.locator("#task video");
    await video.waitFor({ timeout: 20_000 });
    await watch.look(page);
    const film = await video.evaluate(async (element: HTMLVideoElement) => {
      element.muted = true;
      await element.play();
      return { ready: element.readyState, width: element.videoWidth, height: element.videoHeight };
    });
    expect(film).toMatchObject({ width: 1280, height: 720 });
    expect(film.ready).toBeGreaterThanOrEqual(3);
    expect(await page.locator("[data-countdown] strong").innerText()).toMatch(/23:59:\d\d/);

    await page.getByLabel("What should be different?").fill("By night sandbox:slow");
    await page.getByRole("button", { name: "Remix", exact: true }).click();
    await page.getByRole("row", { name: "Remix of" }).getByRole("link", { name: id }).waitFor();
    await page.getByRole("button", { name: "Cancel the task" }).click();
    await page.getByText("1 USD came back").waitFor();
  },
);

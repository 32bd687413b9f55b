/** The image at the head of the README: pages of the console in both themes, and files that the sandbox made. */

import { type Browser, type Page } from "playwright-core";
import { resultCharacters, resultImages, taskList, resultVideos } from "./api-answers.ts";
import { looks, show, signIn } from "./console-pages.ts";
import type { Gateway } from "./gateway.ts";

/** The approximate width of a README's images on GitHub. */
const size = { width: 1200, height: 730 };
const maxBytes = 300_000;

const layout = (pages: readonly Buffer[], files: readonly string[]) => `<!doctype html>
<style>
  body { margin: 0; height: 100vh; background: #e9e7f3; position: relative; overflow: hidden }
  img { position: absolute; border-radius: 8px; box-shadow: 0 2px 14px #0003; object-fit: cover }
  img:nth-of-type(1) { left: 30px; top: 30px; width: 740px }
  img:nth-of-type(2) { right: 30px; bottom: 30px; width: 740px }
  img:nth-of-type(3) { right: 30px; top: 30px; width: 370px; height: 209px }
  img:nth-of-type(4) { left: 30px; bottom: 30px; width: 370px; height: 209px }
</style>
${pages.map((png) => `<img src="data:image/png;base64,${png.toString("base64")}">`).join("")}
${files.map((url) => `<img src="${url}">`).join("")}`;

/** Takes the image from a gateway that has the sample tasks. Returns a PNG; throws if it is too large for a README. */
export async function readmeImage(browser: Browser, { baseUrl, apiKey, account }: Gateway): Promise<Buffer> {
  if (apiKey === undefined || account === undefined) throw new Error("the gateway has no demo account");
  const context = await browser.newContext({ baseURL: baseUrl, locale: "en-US" });
  try {
    const page = await context.newPage();
    await signIn(page, account);
    const pages = [await shot(page, "/console", looks[0]), await shot(page, "/console/tasks", looks[1])];
    // A separate page: the console's content security policy would forbid the images.
    const sheet = await context.newPage();
    await sheet.setViewportSize(size);
    await sheet.setContent(layout(pages, await madeFiles(baseUrl, apiKey)), { waitUntil: "networkidle" });
    const png = await sheet.screenshot();
    if (png.byteLength > maxBytes) throw new Error(`the image for the README has ${png.byteLength} bytes, allowed are ${maxBytes}`);
    return png;
  } finally {
    await context.close();
  }
}

async function shot(page: Page, path: string, look: (typeof looks)[number]): Promise<Buffer> {
  await show(page, look);
  await page.goto(path, { waitUntil: "networkidle" });
  return page.screenshot();
}

/** The URLs of an image and of a video's first frame, or a character's portrait. */
async function madeFiles(baseUrl: string, apiKey: string): Promise<string[]> {
  const answer = await fetch(`${baseUrl}/v1/tasks?status=completed`, { headers: { authorization: `Bearer ${apiKey}` } });
  const results = taskList.parse(await answer.json()).data.map(({ result }) => result);
  const images = results.flatMap(resultImages).flatMap(({ url }) => url);
  const stills = [
    ...results.flatMap(resultVideos).flatMap(({ thumbnail }) => thumbnail ?? []),
    ...results.flatMap(resultCharacters).map((character) => character.profile_picture_url),
  ];
  return [...images.slice(0, 1), ...stills.slice(0, 1)];
}

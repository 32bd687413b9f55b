/** The image at the head of the README: the playground and the gallery, in both themes, with what the sandbox made. */

import { type Browser, type Page } from "playwright-core";
import { looks, show, signIn } from "./console-pages.ts";
import type { Gateway } from "./gateway.ts";
import { makeGallery } from "./sample-tasks.ts";

/** The approximate width of a README's images on GitHub. */
const size = { width: 920, height: 562 };
const maxBytes = 300_000;

const layout = (pages: readonly Buffer[]) => `<!doctype html>
<style>
  body { margin: 0; height: 100vh; background: #e9e7f3; position: relative; overflow: hidden }
  img { position: absolute; border-radius: 8px; box-shadow: 0 2px 14px #0003; width: 660px }
  img:nth-of-type(1) { left: 24px; top: 24px }
  img:nth-of-type(2) { right: 24px; bottom: 24px }
</style>
${pages.map((png) => `<img src="data:image/png;base64,${png.toString("base64")}">`).join("")}`;

/** Takes the image from a gateway that has the sample tasks, and adds to them. Returns a PNG; throws if it is too large for a README. */
export async function readmeImage(browser: Browser, gateway: Gateway): Promise<Buffer> {
  const { baseUrl, account } = gateway;
  if (account === undefined) throw new Error("the gateway has no demo account");
  await makeGallery(gateway);
  const context = await browser.newContext({ baseURL: baseUrl, locale: "en-US" });
  try {
    const page = await context.newPage();
    await signIn(page, account);
    await page.goto("/console/playground");
    const newest = (await page.locator("#strip a").first().getAttribute("href")) ?? "";
    const pages = [await shot(page, newest, looks[0]), await shot(page, "/console/tasks", looks[1])];
    // A separate page: the console's content security policy would forbid the images.
    const sheet = await context.newPage();
    await sheet.setViewportSize(size);
    await sheet.setContent(layout(pages), { waitUntil: "networkidle" });
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

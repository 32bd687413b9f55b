/**
 * `npm run screens`: the README's image, `docs/screens.png`, and an image of every page of the console in every look, in
 * `demo-output/screens/`, from a gateway of its own. With `-- --readme` the README's alone.
 */

import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { type Browser, chromium, type Page } from "playwright-core";
import { chromiumOptions } from "./support/chromium.ts";
import { consolePages, looks, otherLanguages, show, signIn, signUp, speak } from "./support/console-pages.ts";
import type { Gateway } from "./support/gateway.ts";
import { runToEnd, withGateway } from "./support/program.ts";
import { readmeImage } from "./support/readme-image.ts";
import { makeSamples } from "./support/sample-tasks.ts";
import { root } from "./support/wrangler.ts";

const readmeFile = join(root, "docs/screens.png");
const outputDir = join(resolve(process.env["DEMO_OUTPUT"] || join(root, "demo-output")), "screens");
const { values } = parseArgs({ options: { readme: { type: "boolean", default: false } } });

await runToEnd(async (signal) => {
  const browser = await chromium.launch(chromiumOptions());
  try {
    await withGateway("screens", { signal }, (gateway) => take(browser, gateway, signal));
  } finally {
    await browser.close();
  }
});

async function take(browser: Browser, gateway: Gateway, signal: AbortSignal): Promise<void> {
  await makeSamples(gateway);
  await writeFile(readmeFile, await readmeImage(browser, gateway));
  console.log(`the image for the README: ${readmeFile}`);
  if (values.readme) return;
  await rm(outputDir, { recursive: true, force: true });
  await mkdir(outputDir, { recursive: true });
  await takeImages(browser, gateway, signal);
  console.log(`${(await readdir(outputDir)).length} images in ${outputDir}`);
}

async function takeImages(browser: Browser, { baseUrl, account }: Gateway, signal: AbortSignal): Promise<void> {
  for (const as of ["visitor", "new", "demo"] as const) {
    const page = await (await browser.newContext({ baseURL: baseUrl, locale: "en-US" })).newPage();
    if (as === "demo" && account) await signIn(page, account);
    if (as === "new") await signUp(page);
    for (const { name, status, reach } of consolePages.filter((one) => one.as === as)) {
      signal.throwIfAborted();
      await reach(page);
      for (const look of looks) {
        await show(page, look);
        await loadImages(page);
        await page.screenshot({ path: join(outputDir, `${name}-${look.name}.png`), fullPage: true });
      }
      // The answer to a form has no URL and cannot be loaded again.
      if (status !== undefined && status !== 404) continue;
      await show(page, looks[0]);
      for (const language of otherLanguages) {
        if ((await speak(page, language)) === 404 && status !== 404) break;
        await loadImages(page);
        await page.screenshot({ path: join(outputDir, `${name}-${language}.png`), fullPage: true });
      }
      await speak(page, "en");
    }
  }
}

/** Also loads the images below the window, because the screenshot shows the whole page. */
async function loadImages(page: Page): Promise<void> {
  await page.evaluate(async () => {
    const images = [...document.images].filter((image) => image.checkVisibility());
    for (const image of images) image.loading = "eager";
    await Promise.all(images.map((image) => image.decode().catch(() => undefined)));
  });
}

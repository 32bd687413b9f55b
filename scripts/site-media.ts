/**
 * `npm run generate -- media`: the images and the videos of the public pages, made by the sandbox and scaled down by Chromium, into
 * `src/console/site/media/`; and the card of previews and the icon of home screens, into `src/console/files/`.
 */

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { chromium, type Page } from "playwright-core";
import { resultImages, resultVideos } from "./support/api-answers.ts";
import { cardImages } from "./support/card-image.ts";
import { chromiumOptions } from "./support/chromium.ts";
import type { Gateway } from "./support/gateway.ts";
import { runToEnd, withGateway } from "./support/program.ts";
import { make } from "./support/sample-tasks.ts";
import { root } from "./support/wrangler.ts";

/** The crop of an image: `at` is the left edge as a fraction of the free width. Without it the image is only scaled down. */
interface Cut {
  width: number;
  height: number;
  at?: number;
}

/** The sandbox writes text into the lower part of an image: public pages show only the part above. */
const wordless = { "1:1": [0.11, 0.68], "9:16": [0.07, 0.85], "16:9": [0.12, 0.76] } as const;
const tall: Cut = { width: 360, height: 608 };
const wide: Cut = { width: 736, height: 296 };
const small: Cut = { width: 360, height: 296 };

/** Images without words: file, prompt, the index among four images, ratio and crop. */
const wordlessImages = [
  ["wall-2", "A lighthouse at dawn", 0, "16:9", { ...wide, at: 1 }],
  ["wall-3", "Coral under glass", 1, "9:16", tall],
  ["wall-5", "A quiet harbour at night", 2, "1:1", small],
  ["wall-6", "A desert road at noon", 1, "16:9", wide],
  ["wall-8", "Snow over the valley", 2, "1:1", small],
  ["wall-9", "Tea fields in spring", 0, "1:1", small],
] as const;

const whole: Cut = { width: 680, height: 389 };
const folder = join(root, "src/console/site/media");
/** Written at the end, because the gateway that makes them serves the old files meanwhile. */
const files = new Map<string, Buffer>();

/** An image, or the first frame of a video, cropped, scaled down and written as WebP. `rows` is the used part of its height. */
async function shrink(page: Page, name: string, url: string, cut: Cut, rows: readonly [number, number] = [0, 1]): Promise<void> {
  const base64 = await page.evaluate(
    async ({ url, cut, rows: [top, bottom] }) => {
      const isVideo = url.includes(".mp4");
      const source = document.createElement(isVideo ? "video" : "img");
      source.crossOrigin = "anonymous";
      source.src = url;
      if (source instanceof HTMLVideoElement) {
        const shown = new Promise((ready) => source.requestVideoFrameCallback(ready));
        source.muted = true;
        await source.play();
        await shown;
        source.pause();
      } else await source.decode();
      const [width, height] =
        source instanceof HTMLVideoElement ? [source.videoWidth, source.videoHeight] : [source.naturalWidth, source.naturalHeight];
      const room = height * (bottom - top);
      const scale = Math.min(width / cut.width, room / cut.height);
      const canvas = Object.assign(document.createElement("canvas"), { width: cut.width, height: cut.height });
      const context = canvas.getContext("2d")!;
      context.imageSmoothingQuality = "high";
      const x = (width - cut.width * scale) * (cut.at ?? 0.5);
      const y = height * top + (room - cut.height * scale) / 2;
      context.drawImage(source, x, y, cut.width * scale, cut.height * scale, 0, 0, cut.width, cut.height);
      return canvas.toDataURL("image/webp", 0.82).replace(/^.*,/, "");
    },
    { url, cut, rows },
  );
  files.set(`${name}.webp`, Buffer.from(base64, "base64"));
}

async function makeAll(page: Page, gateway: Gateway): Promise<void> {
  const image = async (model: string, prompt: string, size: string, n = 4) =>
    resultImages((await make(gateway, "/v1/images/generations", { model, prompt, size, n })).result).map(({ url }) => url[0] ?? "");
  for (const [name, prompt, which, size, cut] of wordlessImages)
    await shrink(page, name, (await image("imgA-4", prompt, size)).at(which) ?? "", cut, wordless[size]);
  for (const [at, url] of (await image("imgA-4", "A lighthouse at dawn", "16:9", 2)).entries())
    await shrink(page, `lighthouse-${at + 1}`, url, whole, wordless["16:9"]);
  for (const [model, prompt] of [
    ["imgB-4o-image", "Tea fields in spring"],
    ["imgC-3-pro-image-preview", "Northern lights"],
  ] as const)
    await shrink(page, `sample-${model}`, (await image(model, prompt, "16:9", 1)).at(0) ?? "", whole, wordless["16:9"]);
  const videos = "/v1/videos/generations";
  const clip = { model: "vidC-1-0-pro-fast", prompt: "Waves break over the rocks", duration: 4, metadata: { resolution: "480p" } };
  const url = resultVideos((await make(gateway, videos, clip)).result).at(0)?.url[0] ?? "";
  await shrink(page, "waves", url, { width: 680, height: 382 });
  files.set("waves.mp4", Buffer.from(await (await fetch(url)).arrayBuffer()));
  // Made by scripts/sandbox-data/clips.ts: it begins again where it ends.
  const hills = await readFile(join(folder, "hills.mp4"));
  await shrink(page, "hills", `data:video/mp4;base64,${hills.toString("base64")}#.mp4`, { width: 1280, height: 720 });
}

await runToEnd(async (signal) => {
  const browser = await chromium.launch(chromiumOptions());
  try {
    const { card, icon } = await cardImages(browser);
    await writeFile(join(root, "src/console/files/card.png"), card);
    await writeFile(join(root, "src/console/files/touch.png"), icon);
    await withGateway("media", { signal, env: { RATE_LIMITS: "off" } }, async (gateway) => makeAll(await browser.newPage(), gateway));
  } finally {
    await browser.close();
  }
  await Promise.all([...files].map(([name, bytes]) => writeFile(join(folder, name), bytes)));
});

/** `npm run generate -- media`: the images and the video of the public pages, made by the sandbox and scaled down by Chromium, into `src/console/site/media/`. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { chromium, type Page } from "playwright-core";
import { resultCharacters, resultImages, resultVideos } from "./support/api-answers.ts";
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

/** The sandbox writes text into the upper and the lower part of an image: the wall uses only the part between. */
const wordless = { "1:1": [0.11, 0.68], "9:16": [0.07, 0.85], "16:9": [0.12, 0.76] } as const;
const tall: Cut = { width: 360, height: 608 };
const wide: Cut = { width: 736, height: 296 };
const small: Cut = { width: 360, height: 296 };

/** The wall of the landing page: prompt, the index among four images, ratio and crop. */
const wall = [
  ["Paper lanterns", 1, "9:16", tall],
  ["A lighthouse at dawn", 0, "16:9", { ...wide, at: 1 }],
  ["Coral under glass", 1, "9:16", tall],
  ["Northern lights", 2, "1:1", small],
  ["A quiet harbour at night", 2, "1:1", small],
  ["A desert road at noon", 1, "16:9", wide],
  ["Coral under glass", 2, "1:1", small],
  ["Snow over the valley", 2, "1:1", small],
  ["Tea fields in spring", 0, "1:1", small],
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
  for (const [at, [prompt, which, size, cut]] of wall.entries())
    await shrink(page, `wall-${at + 1}`, (await image("imgA-4", prompt, size)).at(which) ?? "", cut, wordless[size]);
  for (const [at, url] of (await image("imgA-4", "A lighthouse at dawn", "16:9")).entries())
    await shrink(page, `lighthouse-${at + 1}`, url, whole);
  for (const [model, prompt] of [
    ["imgB-4o-image", "Tea fields in spring"],
    ["imgC-3-pro-image-preview", "Northern lights"],
  ] as const)
    await shrink(page, `sample-${model}`, (await image(model, prompt, "16:9", 1)).at(0) ?? "", whole);
  const videos = "/v1/videos/generations";
  const clip = { model: "vidC-1-0-pro-fast", prompt: "Waves break over the rocks", duration: 4, metadata: { resolution: "480p" } };
  const url = resultVideos((await make(gateway, videos, clip)).result).at(0)?.url[0] ?? "";
  await shrink(page, "waves", url, { width: 680, height: 382 });
  files.set("waves.mp4", Buffer.from(await (await fetch(url)).arrayBuffer()));
  const { id } = await make(gateway, videos, { model: "vidA-2", prompt: "A gardener waters her plants" });
  const { result } = await make(gateway, videos, { model: "vidA-2", from_task: id, timestamps: "1,3" });
  await shrink(page, `wall-${wall.length + 1}`, resultCharacters(result).at(0)?.profile_picture_url ?? "", small);
}

await runToEnd(async (signal) => {
  const browser = await chromium.launch(chromiumOptions());
  try {
    await withGateway("media", { signal, env: { RATE_LIMITS: "off" } }, async (gateway) => makeAll(await browser.newPage(), gateway));
  } finally {
    await browser.close();
  }
  await Promise.all([...files].map(([name, bytes]) => writeFile(join(folder, name), bytes)));
});

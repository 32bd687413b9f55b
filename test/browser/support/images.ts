/** Image files for pages, and whether images on a page have loaded. */

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { encode } from "fast-png";
import type { Locator } from "playwright-core";

const side = 64;

/** Writes a PNG file for the duration of `use`. */
export async function withImage(name: string, use: (path: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "gateway-picture-"));
  const data = Uint8Array.from({ length: 3 * side * side }, (_, at) => at % 256);
  try {
    await writeFile(join(folder, name), encode({ width: side, height: side, channels: 3, data }));
    await use(join(folder, name));
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Drops a file on an element, like a user who drags it from a folder. */
export async function dropFile(target: Locator, path: string): Promise<void> {
  await target.scrollIntoViewIfNeeded();
  const { x, y, width, height } = (await target.boundingBox())!;
  const page = target.page();
  const cdp = await page.context().newCDPSession(page);
  const data = { items: [], files: [path], dragOperationsMask: 1 };
  for (const type of ["dragEnter", "dragOver", "drop"] as const)
    await cdp.send("Input.dispatchDragEvent", { type, x: x + width / 2, y: y + height / 2, data });
  await cdp.detach();
}

/** The image's width in pixels; 0 while it loads or when it is broken. */
export const measureWidth = (image: Locator): Promise<number> => image.evaluate((element: HTMLImageElement) => element.naturalWidth);

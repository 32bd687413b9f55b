/** The files of an operation, generated from its record at each download: no file is stored. */

import glyphs from "./data/glyphs.gz";
import { unpackFont, type Font } from "./drawing/glyphs.ts";
import { drawImage } from "./drawing/image.ts";
import { toPng } from "./drawing/png.ts";
import { drawPortrait } from "./drawing/portrait.ts";
import { makeVideo } from "./videos.ts";
import type { OperationRecord } from "./operations.ts";
import { orderPixels, orderShortSide, type VideoOrder, type ImageOrder } from "./orders.ts";

export interface File {
  bytes: Uint8Array<ArrayBuffer>;
  type: "image/png" | "video/mp4";
}

// Unpacked once per isolate: two megabytes that never change.
let font: Promise<Font> | undefined;
const loadFont = () => (font ??= unpackFont(glyphs));

/** Makes an operation's output number `index`, from 0; undefined if it has fewer. */
export async function makeOutput(id: string, { order, createdAt }: OperationRecord, index: number): Promise<File | undefined> {
  if (index >= (order.kind === "image" ? order.n : 1)) return undefined;
  if (order.kind === "image") return makeImage(order, `${index + 1}/${order.n}`);
  if (order.kind === "character") return makePortrait(id);
  const title = order.prompt.slice(0, 250).toWellFormed();
  const bytes = await makeVideo({ ratio: order.size, shortSide: orderShortSide(order), duration: order.duration, title, createdAt });
  return { bytes, type: "video/mp4" };
}

/** Makes the thumbnail of a video, in the video's size; undefined if none was requested. */
export async function makeThumbnail({ order }: OperationRecord, index: number): Promise<File | undefined> {
  if (order.kind === "image" || order.kind === "character" || !order.thumbnail || index !== 0) return undefined;
  return makeImage(order, `${order.duration} s`);
}

async function makeImage(order: ImageOrder | VideoOrder, note: string): Promise<File> {
  const pixels = orderPixels(order);
  if (!pixels) throw new RangeError(`no such size: ${order.size}`);
  const references = order.references.map(({ sha256, role }) => `${sha256} ${role ?? ""}`);
  const source = order.kind === "remix" ? (order.source_sha256 ?? "") : "";
  const { canvas, palette } = await drawImage(await loadFont(), {
    ...pixels,
    prompt: order.prompt,
    caption: ["sandbox", order.model, ...(references.length > 0 ? [`+${references.length}`] : []), note].join(" · "),
    seed: [order.prompt, order.model, order.style ?? "", source, note, ...references],
  });
  return { bytes: toPng(canvas, palette, { Software: "sandbox" }), type: "image/png" };
}

async function makePortrait(id: string): Promise<File> {
  const { canvas, palette } = await drawPortrait(await loadFont(), [id]);
  return { bytes: toPng(canvas, palette, { Software: "sandbox" }), type: "image/png" };
}

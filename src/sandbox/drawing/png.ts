/** Encodes a canvas as a PNG file with a palette: one byte per pixel in every step, so that the largest images need little memory. */

import { encode } from "fast-png";
import type { Canvas } from "./canvas.ts";
import type { Palette } from "./palette.ts";

/** Encodes a canvas in the colours of the palette. `text` becomes the file's comments (Latin-1 only). */
export function toPng(canvas: Canvas, palette: Palette, text: Record<string, string> = {}): Uint8Array<ArrayBuffer> {
  const bytes = encode({ width: canvas.width, height: canvas.height, data: canvas.tones, depth: 8, channels: 1, palette, text });
  return new Uint8Array(bytes);
}

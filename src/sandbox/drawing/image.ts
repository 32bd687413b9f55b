/** A generated image: a seeded motif, and at its foot the prompt in one line above a caption that names the sandbox. */

import { createCanvas, fillShape, roundedBox, type Box, type Canvas } from "./canvas.ts";
import { GLYPH_HEIGHT, type Font } from "./glyphs.ts";
import { choosePalette, type Palette } from "./palette.ts";
import { pick, randomFrom } from "./random.ts";
import { SCENES } from "./scenes.ts";
import { drawLines, oneLine } from "./text.ts";

export interface ImageOrder {
  width: number;
  height: number;
  prompt: string;
  /** The caption below the prompt, `sandbox · imgA-4 · 1/2`. */
  caption: string;
  /** Every value that changes the image. */
  seed: readonly string[];
}

/** Draws an image; the same order gives the same bytes. */
export async function drawImage(font: Font, order: ImageOrder): Promise<{ canvas: Canvas; palette: Palette }> {
  const random = await randomFrom(order.seed);
  const palette = choosePalette(random);
  const canvas = createCanvas(order.width, order.height);
  pick(random, SCENES)(canvas, random, 0);
  drawWords(canvas, font, [order.prompt, order.caption]);
  return { canvas, palette };
}

/** Writes texts on a small dark plate in the lower left corner: each in one line, the first one larger. A plate covers a tenth of the image's height. */
export function drawWords(canvas: Canvas, font: Font, texts: readonly string[]): void {
  const unit = Math.min(canvas.width, canvas.height) / 512;
  const margin = 12 * unit;
  const padding = 8 * unit;
  const room = canvas.width - (margin + padding) * 2;
  const lines = texts.flatMap((text, at) => {
    const scale = Math.max(1, (at === 0 && texts.length > 1 ? 1.25 : 0.75) * unit);
    const line = oneLine(font, text, room / scale);
    return line ? [{ line, scale }] : [];
  });
  if (lines.length === 0) return;
  const gap = 3 * unit;
  const width = Math.max(...lines.map(({ line, scale }) => line.width * scale)) + padding * 2;
  const height = lines.reduce((sum, { scale }) => sum + GLYPH_HEIGHT * scale + gap, -gap) + padding * 2;
  const box = { x: margin, y: canvas.height - margin - height, width, height };
  darken(canvas, box, 6 * unit, 0.3);
  let y = box.y + padding;
  for (const { line, scale } of lines) {
    drawLines(canvas, [line], box.x + padding, y, scale, 255);
    y += GLYPH_HEIGHT * scale + gap;
  }
}

/** Darkens a box: the image below stays visible at `light` times its brightness. */
function darken(canvas: Canvas, box: Box, radius: number, light: number): void {
  fillShape(canvas, box, roundedBox(box, radius), (below) => below * light);
}

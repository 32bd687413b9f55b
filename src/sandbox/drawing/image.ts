/** A generated image: a seeded motif, the prompt in a panel, and a caption that names the sandbox. */

import { createCanvas, fillShape, roundedBox, type Box, type Canvas } from "./canvas.ts";
import type { Font } from "./glyphs.ts";
import { choosePalette, type Palette } from "./palette.ts";
import { pick, randomFrom } from "./random.ts";
import { SCENES } from "./scenes.ts";
import { drawLines, textHeight, LINE_HEIGHT, wrap, type Line } from "./text.ts";

export interface ImageOrder {
  width: number;
  height: number;
  prompt: string;
  /** The caption in the upper corner, `sandbox · imgA-4 · 1/2`. */
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
  drawCaption(canvas, font, order.caption);
  drawPrompt(canvas, font, order.prompt);
  return { canvas, palette };
}

/** Writes one line on a small dark plate in the upper left corner. */
export function drawCaption(canvas: Canvas, font: Font, caption: string): void {
  const unit = Math.min(canvas.width, canvas.height) / 512;
  const margin = 24 * unit;
  const [line] = wrap(font, caption, Number.POSITIVE_INFINITY);
  if (!line) return;
  const room = canvas.width - margin * 2 - 20 * unit;
  const scale = Math.max(1, Math.min(unit, room / line.width));
  const box = { x: margin, y: margin, width: line.width * scale + 20 * unit, height: 16 * scale + 10 * unit };
  darken(canvas, box, box.height / 2, 0.3);
  drawLines(canvas, [line], box.x + 10 * unit, box.y + 5 * unit, scale, 250);
}

/** Writes the prompt into a panel at the bottom, which grows with it up to two thirds of the image. */
function drawPrompt(canvas: Canvas, font: Font, prompt: string): void {
  const unit = Math.min(canvas.width, canvas.height) / 512;
  const margin = 24 * unit;
  const padding = 20 * unit;
  const width = canvas.width - margin * 2;
  const room = { width: width - padding * 2, height: canvas.height * 0.68 - padding * 2 };
  const { lines, scale } = fit(font, prompt, room, unit);
  const height = textHeight(lines.length, scale) + padding * 2;
  const box = { x: margin, y: canvas.height - margin - height, width, height };
  darken(canvas, box, 14 * unit, 0.34);
  drawLines(canvas, lines, box.x + padding, box.y + padding, scale, 255);
}

/** The largest scale at which the text fits; text that fits at no scale is cut and ends with three dots. */
function fit(font: Font, text: string, room: { width: number; height: number }, unit: number): { lines: Line[]; scale: number } {
  for (const size of [2.5, 2, 1.75, 1.5, 1.25, 1, 0.75, 0.6, 0.5]) {
    const scale = Math.max(1, size * unit);
    const lines = wrap(font, text, room.width / scale);
    // Only short prompts get large text: a panel should leave most of the image visible.
    const share = size > 1 ? 0.5 : 1;
    if (textHeight(lines.length, scale) <= room.height * share) return { lines, scale };
  }
  const scale = Math.max(1, unit / 2);
  const most = Math.max(1, Math.floor(room.height / scale / LINE_HEIGHT));
  const lines = wrap(font, text, room.width / scale - 24).slice(0, most);
  const last = lines.at(-1);
  const [dots] = wrap(font, "...", Number.POSITIVE_INFINITY);
  if (last && dots) last.glyphs.push(...dots.glyphs.map(({ glyph, x }) => ({ glyph, x: x + last.width })));
  return { lines, scale };
}

/** Darkens a box: the image below stays visible at `light` times its brightness. */
function darken(canvas: Canvas, box: Box, radius: number, light: number): void {
  fillShape(canvas, box, roundedBox(box, radius), (below) => below * light);
}

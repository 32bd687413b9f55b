/** Text on a canvas: wrapped to a width, at the largest scale that its box allows. */

import { fillShape, type Box, type Canvas } from "./canvas.ts";
import { GLYPH_HEIGHT, type Font, type Glyph } from "./glyphs.ts";

/** A laid-out line in font pixels: each glyph with its offset from the left. */
export interface Line {
  glyphs: { glyph: Glyph; x: number }[];
  width: number;
}

/** Distance from one line to the next, in font pixels. */
export const LINE_HEIGHT = 19;

// Characters that may not begin a line in Chinese and Japanese.
const CLOSING = /[、。，．！？：；）】》」』〕〉…ー々ゝっゃゅょッャュョ]/u;
// Characters that only modify their neighbours, such as emoji joiners, variants and skin tones.
const INVISIBLE = /\p{Cf}|\p{Cc}|\p{Variation_Selector}|\p{Emoji_Modifier}/u;
const HANGUL = /\p{Script=Hangul}/u;
const MARK = /\p{M}/u;

/** Breaks text into lines of at most `width` font pixels: at spaces, between wide characters, and inside a word only if it is too long. */
export function wrap(font: Font, text: string, width: number): Line[] {
  const lines: Line[] = [];
  const paragraphs = text.normalize("NFC").split("\n");
  for (const paragraph of paragraphs.filter((words) => words.trim() !== "")) {
    let line = newLine();
    for (const unit of splitUnits(font, paragraph)) {
      const unitWidth = unit.reduce((sum, { advance }) => sum + advance, 0);
      const gap = line.width > 0 && unit[0]?.afterSpace ? 8 : 0;
      const fits = line.width + gap + unitWidth <= width;
      if (!fits && line.width > 0) {
        lines.push(line);
        line = newLine();
      } else {
        line.width += gap;
      }
      for (const { glyph, advance } of unit) {
        if (line.width + advance > width && line.width > 0) {
          lines.push(line);
          line = newLine();
        }
        line.glyphs.push({ glyph, x: advance === 0 ? Math.max(0, line.width - glyph.width) : line.width });
        line.width += advance;
      }
    }
    lines.push(line);
  }
  return lines;
}

/** Draws lines with their upper left corner at (x, y); `scale` is canvas pixels for one font pixel, `tone` 0 to 255. */
export function drawLines(canvas: Canvas, lines: readonly Line[], x: number, y: number, scale: number, tone: number): void {
  for (const [index, line] of lines.entries()) {
    const top = y + index * LINE_HEIGHT * scale;
    for (const { glyph, x: offset } of line.glyphs) drawGlyph(canvas, glyph, x + offset * scale, top, scale, tone);
  }
}

/** The height of this many lines in canvas pixels, without the space below the last one. */
export function textHeight(lines: number, scale: number): number {
  return ((lines - 1) * LINE_HEIGHT + GLYPH_HEIGHT) * scale;
}

function drawGlyph(canvas: Canvas, glyph: Glyph, left: number, top: number, scale: number, tone: number): void {
  const box: Box = { x: left, y: top, width: glyph.width * scale, height: GLYPH_HEIGHT * scale };
  // The bitmap is read as a smooth field and cut at its middle, so that strokes are rounded.
  const distance = (px: number, py: number) => {
    const x = (px - left) / scale - 0.5;
    const y = (py - top) / scale - 0.5;
    const [column, row] = [Math.floor(x), Math.floor(y)];
    const [u, v] = [x - column, y - row];
    const upper = glyph.at(column, row) * (1 - u) + glyph.at(column + 1, row) * u;
    const lower = glyph.at(column, row + 1) * (1 - u) + glyph.at(column + 1, row + 1) * u;
    return (0.45 - (upper * (1 - v) + lower * v)) * scale;
  };
  fillShape(canvas, box, distance, () => tone);
}

interface Cell {
  glyph: Glyph;
  advance: number;
  afterSpace: boolean;
}

/** Splits text into units that stay together on a line: a word, or one wide character with the closing signs behind it. */
function splitUnits(font: Font, paragraph: string): Cell[][] {
  const units: Cell[][] = [];
  let afterSpace = true;
  let afterWide = false;
  for (const character of paragraph) {
    if (/\s/u.test(character)) {
      afterSpace = true;
      continue;
    }
    if (INVISIBLE.test(character)) continue;
    const glyph = font.glyph(character.codePointAt(0) ?? 0);
    const mark = MARK.test(character);
    // Korean has wide letters, but spaces between words.
    const wide = glyph.width > 8 && !mark && !HANGUL.test(character);
    const unit = units.at(-1);
    const joins = mark || CLOSING.test(character) || (!wide && !afterWide);
    const cell = { glyph, advance: mark ? 0 : glyph.width, afterSpace };
    if (unit && !afterSpace && joins) unit.push(cell);
    else units.push([cell]);
    afterSpace = false;
    if (!mark) afterWide = wide;
  }
  return units;
}

function newLine(): Line {
  return { glyphs: [], width: 0 };
}

/** Text on a canvas: wrapped to a width, Arabic joined, and lines from right to left where the writing runs so. */

import { joinArabic } from "./arabic.ts";
import { fillShape, type Box, type Canvas } from "./canvas.ts";
import { GLYPH_HEIGHT, type Font, type Glyph } from "./glyphs.ts";

type Direction = "left" | "right" | "none";

interface Placed {
  glyph: Glyph;
  /** Offset from the left. */
  x: number;
  /** Left edge and width of the character to which the glyph belongs: for a mark, of the one below it. */
  start: number;
  advance: number;
  /** Where its writing begins; `none` for signs between words. */
  from: Direction;
}

/** A laid-out line in font pixels: each glyph with its offset from the left. */
export interface Line {
  glyphs: Placed[];
  width: number;
}

/** Distance from one line to the next, in font pixels. */
const LINE_HEIGHT = 19;

// Characters that may not begin a line in Chinese and Japanese.
const CLOSING = /[、。，．！？：；）】》」』〕〉…ー々ゝっゃゅょッャュョ]/u;
// Characters that only modify their neighbours, such as emoji joiners, variants and skin tones.
const INVISIBLE = /\p{Cf}|\p{Cc}|\p{Variation_Selector}|\p{Emoji_Modifier}/u;
const HANGUL = /\p{Script=Hangul}/u;
const MARK = /\p{M}/u;
// Digits run from left to right in Arabic and Hebrew too.
const FROM_RIGHT = /[[\p{Script=Arabic}\p{Script=Hebrew}]--\p{N}]/v;
const FROM_LEFT = /[\p{L}\p{N}]/u;

/** Breaks text into lines of at most `width` font pixels: at spaces, between wide characters, and inside a word only if it is too long. */
export function wrap(font: Font, text: string, width: number): Line[] {
  const lines: Line[] = [];
  const paragraphs = joinArabic(text.normalize("NFC")).split("\n");
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
      for (const { glyph, advance, from } of unit) {
        if (line.width + advance > width && line.width > 0) {
          lines.push(line);
          line = newLine();
        }
        const below = advance === 0 ? line.glyphs.at(-1) : undefined;
        const x = advance === 0 ? Math.max(0, line.width - glyph.width) : line.width;
        line.glyphs.push({ glyph, x, start: below?.start ?? x, advance: below?.advance ?? advance, from: below?.from ?? from });
        line.width += advance;
      }
    }
    lines.push(line);
  }
  for (const line of lines) arrange(line);
  return lines;
}

/** Mirrors the places of the characters from `first` to `last`, each with its marks. */
function mirror(glyphs: Placed[], first: number, last: number): void {
  const part = glyphs.slice(first, last + 1);
  const left = Math.min(...part.map(({ start }) => start));
  const right = Math.max(...part.map(({ start, advance }) => start + advance));
  for (const one of part) {
    const start = left + right - one.start - one.advance;
    one.x += start - one.start;
    one.start = start;
  }
}

/** Puts a line that was laid out in the order of reading into the order of the eye: words that run from right to left are mirrored. */
function arrange({ glyphs }: Line): void {
  if (!glyphs.some(({ from }) => from === "right")) return;
  const base = glyphs.find(({ from }) => from !== "none")?.from;
  if (base === "right") mirror(glyphs, 0, glyphs.length - 1);
  // Within the line, runs of the other direction: from its first letter to its last one before the line's own direction comes back.
  const other = base === "right" ? "left" : "right";
  for (let at = 0; at < glyphs.length; at++) {
    if (glyphs[at]?.from !== other) continue;
    let last = at;
    for (let next = at + 1; next < glyphs.length && glyphs[next]?.from !== base; next++) if (glyphs[next]?.from === other) last = next;
    mirror(glyphs, at, last);
    at = last;
  }
}

/** Shortens a text to one line of at most `width` font pixels, with three dots where it was cut. */
export function oneLine(font: Font, text: string, width: number): Line | undefined {
  const words = text.replaceAll(/\s+/gu, " ");
  const [whole, ...rest] = wrap(font, words, width);
  if (rest.length === 0 || !whole) return whole;
  const dots = wrap(font, "...", Number.POSITIVE_INFINITY)[0];
  const [line] = wrap(font, words, Math.max(width - (dots?.width ?? 0), 1));
  if (!line || !dots) return line;
  const isFromRight = line.glyphs.find(({ from }) => from !== "none")?.from === "right";
  const shift = (glyphs: Placed[], by: number) => glyphs.map((one) => ({ ...one, x: one.x + by, start: one.start + by }));
  const glyphs = isFromRight ? [...dots.glyphs, ...shift(line.glyphs, dots.width)] : [...line.glyphs, ...shift(dots.glyphs, line.width)];
  return { glyphs, width: line.width + dots.width };
}

/** Draws lines with their upper left corner at (x, y); `scale` is canvas pixels for one font pixel, `tone` 0 to 255. */
export function drawLines(canvas: Canvas, lines: readonly Line[], x: number, y: number, scale: number, tone: number): void {
  for (const [index, line] of lines.entries()) {
    const top = y + index * LINE_HEIGHT * scale;
    for (const { glyph, x: offset } of line.glyphs) drawGlyph(canvas, glyph, x + offset * scale, top, scale, tone);
  }
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
  from: Direction;
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
    const from = FROM_RIGHT.test(character) ? "right" : FROM_LEFT.test(character) ? "left" : "none";
    const cell: Cell = { glyph, advance: mark ? 0 : glyph.width, from, afterSpace };
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

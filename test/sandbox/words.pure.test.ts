/** Words in images: Arabic letters take the forms that join, lines run to the side where their writing begins, and long prompts are cut. */

import { expect, test } from "vitest";
import { joinArabic } from "../../src/sandbox/drawing/arabic.ts";
import type { Font } from "../../src/sandbox/drawing/glyphs.ts";
import { oneLine, wrap } from "../../src/sandbox/drawing/text.ts";

/** A font whose glyphs remember their code points. */
const font: Font = { glyph: (codePoint) => ({ width: 8, at: () => 0, codePoint }) as ReturnType<Font["glyph"]> };
const eye = (text: string) => {
  const [line] = wrap(font, text, Number.POSITIVE_INFINITY);
  const placed = [...(line?.glyphs ?? [])].sort((a, b) => a.x - b.x);
  return placed.map(({ glyph }) => String.fromCodePoint((glyph as unknown as { codePoint: number }).codePoint)).join("");
};
const codes = (text: string) => Array.from(text, (letter) => letter.codePointAt(0)!.toString(16));

test.each([
  // Beh initial, hah medial, reh final.
  ["بحر", ["fe91", "fea4", "feae"]],
  // Dal does not join what follows it: reh stands alone.
  ["در", ["fea9", "fead"]],
  // Lam and alef become one sign, also after a letter that joins.
  ["لا", ["fefb"]],
  ["بلا", ["fe91", "fefc"]],
  // A mark does not part its neighbours.
  ["بَح", ["fe91", "64e", "fea2"]],
  ["پیچ", ["fb58", "fbff", "fb7b"]],
])("%s is joined", (word, forms) => {
  expect(codes(joinArabic(word))).toEqual(forms);
});

test("text without Arabic letters stays as it is", () => {
  for (const text of ["A lighthouse", "灯台", "שלום", "Зимний лес"]) expect(joinArabic(text)).toBe(text);
});

test("Hebrew and Arabic run from right to left, numbers and Latin words in them from left to right", () => {
  expect(eye("שלום")).toBe(Array.from("שלום").toReversed().join(""));
  expect(eye("אב 25 גד")).toBe("דג25בא");
  expect(eye("one אב two")).toBe("oneבאtwo");
  expect(codes(eye("در"))).toEqual(["fead", "fea9"]);
});

test("a prompt is cut to one line, with dots at its end", () => {
  const dots = (text: string) => {
    const line = oneLine(font, text, 80)!;
    const placed = [...line.glyphs].sort((a, b) => a.x - b.x);
    expect(line.width).toBeLessThanOrEqual(80);
    return placed.map(({ glyph }) => String.fromCodePoint((glyph as unknown as { codePoint: number }).codePoint)).join("");
  };
  expect(dots("a bc")).toBe("abc");
  expect(dots("a lighthouse at dawn")).toMatch(/^[a-z]+\.\.\.$/);
  expect(dots("אבגדהוזחטי אבגדהוזחטי")).toMatch(/^\.\.\.[א-ת]+$/);
});

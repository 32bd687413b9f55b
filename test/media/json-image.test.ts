/** The piecewise decoder of inline images and the one of whole texts give the same results. */

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { decodeImage } from "../../src/media/base64-image.ts";
import { ImageTextReader } from "../../src/media/json-image.ts";
import { base64, jpeg, png } from "./images.ts";

const maxBytes = 300;

/** The result for a text that arrives in chunks cut at `cuts`. */
function read(reader: ImageTextReader, text: string, cuts: readonly number[] = []) {
  const borders = [...cuts.map((cut) => cut % (text.length + 1)).sort((a, b) => a - b), text.length];
  let from = 0;
  for (const border of borders) {
    reader.push(text.slice(from, border));
    from = border;
  }
  const { spelling, layout: _layout, ...verdict } = reader.end();
  return { spelling, verdict: "bytes" in verdict ? { ...verdict, bytes: verdict.bytes.slice() } : verdict };
}

function expectSame(reader: ImageTextReader, text: string, cuts?: readonly number[]) {
  const { spelling, verdict } = read(reader, text, cuts);
  expect(verdict).toEqual(decodeImage(text, { allowBare: true, maxBytes }));
  // Where bare Base64 is not allowed, bare text is not an image, and nothing else differs.
  const strict = decodeImage(text, { allowBare: false, maxBytes });
  expect(spelling === "bare" ? { problem: "not_an_image_url" } : verdict).toEqual(strict);
}

const starts = [
  "",
  "data:image/png;base64,",
  "DATA:Image/x-y;a=b;c=;base64,",
  `data:image/${"x".repeat(250)};base64,`,
  " data:",
  "data:text/plain,",
];

test("each text of the whole-text tests gives the same result, cut at every place", () => {
  const reader = new ImageTextReader(maxBytes);
  const data = [
    ...Object.values(base64),
    base64.png.replaceAll(/.{76}/g, "$&\r\n"),
    "",
    " \n",
    "iVBORw0KGg",
    "iVBORw0KGg=",
    "iVBORw0KGg==",
    "iVBORw0KGg===",
    "iVBORw0KGh==",
    "iVBO*w0K",
    "iVBO=w0K",
    "AA==AAAA",
    "AA=\n= \n",
    "A",
    "=",
    "====",
    "\u200bAAAA",
    "!".repeat(600),
    "!".repeat(100),
    " ".repeat(600),
    new Uint8Array(300).fill(65).toBase64(),
    new Uint8Array(301).fill(65).toBase64(),
    new TextEncoder().encode("GIF89a......").toBase64(),
  ];
  for (const text of starts.flatMap((start) => data.map((rest) => start + rest))) {
    for (let cut = 0; cut <= text.length; cut += text.length > 400 ? 13 : 1) expectSame(reader, text, [cut, cut + 1]);
  }
});

test("any text gives the same result, cut anywhere", () => {
  const reader = new ImageTextReader(maxBytes);
  const space = fc.constantFrom("", "", "", "\n", "\r\n", " ", "\t\f");
  const valid = fc
    .tuple(fc.constantFrom(png, jpeg, new Uint8Array()), fc.uint8Array({ maxLength: 310 }), fc.infiniteStream(space))
    .map(([magic, rest, spaces]) =>
      Uint8Array.from([...magic, ...rest])
        .toBase64()
        .replaceAll(/.{5}/g, (group) => group + spaces.next().value!),
    );
  const broken = fc.tuple(valid, fc.nat(), fc.constantFrom("=", "-", "\0", "é", "😀", "A", "")).map(([text, at, insert]) => {
    const place = at % (text.length + 1);
    return text.slice(0, place) + insert + text.slice(place + 1);
  });
  const letters = fc.string({ unit: fc.constantFrom("A", "b", "/", "=", " ", "\n", "*"), maxLength: 30 });
  const text = fc
    .tuple(fc.constantFrom(...starts), fc.oneof(valid, broken, letters, fc.string({ unit: "binary" })))
    .map((parts) => parts.join(""));
  fc.assert(
    fc.property(text, fc.array(fc.nat(), { maxLength: 8 }), (text, cuts) => expectSame(reader, text, cuts)),
    { numRuns: 1000 },
  );
});

test("text that is not an image does not stay in memory", () => {
  const reader = new ImageTextReader(1024);
  const letters = "A".repeat(4096);
  for (const start of ["data:image/png;base64,", "iVBORw0KGgoAAAAA", "GIF89a"]) {
    reader.push(start);
    for (let at = 0; at < 200; at++) reader.push(letters);
    expect(reader.end()).toMatchObject({ problem: "too_large" });
  }
  reader.push(base64.png);
  const verdict = reader.end();
  expect("bytes" in verdict && verdict.bytes).toEqual(png);
  expect("bytes" in verdict && verdict.bytes.buffer.byteLength).toBeLessThan(8192);
});

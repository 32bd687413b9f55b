/** Detection of image formats: real files, other files, near misses. */

import { expect, test } from "vitest";
import { detectImageType, IMAGE_TYPE_BYTES } from "../../src/media/image-type.ts";
import { jpeg, png, webps } from "./images.ts";

const text = (value: string) => new TextEncoder().encode(value);
const real = [png, jpeg, ...webps];

test("each format is detected from its first bytes", () => {
  expect(real.map(detectImageType)).toEqual(["image/png", "image/jpeg", "image/webp", "image/webp", "image/webp"]);
  expect(real.map((bytes) => detectImageType(bytes.subarray(0, IMAGE_TYPE_BYTES)))).toEqual(real.map(detectImageType));
});

test("other formats, near misses and too few bytes are not detected", () => {
  const others = [
    "",
    "GIF89a............",
    "<svg xmlns='http://www.w3.org/2000/svg'/>",
    "BM..............",
    "RIFF....WAVEfmt ",
    "RIFF....WEB",
    "\u0089PNG\r\n\x1a\n",
    "\0\0\0\x1cftypavif",
  ];
  expect(others.map((other) => detectImageType(text(other)))).toEqual(others.map(() => undefined));
  // A PNG that passed through a text transfer has changed line endings: the signature is designed to reveal that.
  expect(detectImageType(Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13))).toBeUndefined();
  expect(detectImageType(png.subarray(1))).toBeUndefined();
  expect(detectImageType(png.subarray(0, 7))).toBeUndefined();
  expect(detectImageType(jpeg.subarray(0, 2))).toBeUndefined();
});

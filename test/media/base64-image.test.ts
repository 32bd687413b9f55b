/** Images given as text: the decoded bytes, and each kind of invalid text. */

import { expect, test } from "vitest";
import { decodeImage } from "../../src/media/base64-image.ts";
import { base64, jpeg, png } from "./images.ts";

const limit = 10 * 1024 * 1024;
const read = (text: string, allowBare = false, maxBytes = limit) => decodeImage(text, { allowBare, maxBytes });

/** A PNG by its first bytes, of any length. */
const buildPng = (length: number) => {
  const bytes = new Uint8Array(length);
  bytes.set(png.subarray(0, Math.min(length, png.length)));
  return bytes;
};

test("a data URL gives its bytes and their type", () => {
  expect(read(`data:image/png;base64,${base64.png}`)).toEqual({ bytes: png, type: "image/png" });
  expect(read(`data:image/jpeg;base64,${base64.jpeg}`)).toEqual({ bytes: jpeg, type: "image/jpeg" });
  expect(read(`data:image/webp;base64,${base64.webpLossy}`)).toMatchObject({ type: "image/webp" });
});

test("the label is ignored, and may be written in different ways", () => {
  for (const start of [
    "data:image/gif;base64,",
    "DATA:IMAGE/PNG;BASE64,",
    "data:image/svg+xml;charset=utf-8;base64,",
    "data:image/x-icon;base64,",
  ]) {
    expect(read(start + base64.jpeg), start).toEqual({ bytes: jpeg, type: "image/jpeg" });
  }
});

test("bare Base64 is accepted where it is allowed", () => {
  expect(read(base64.png, true)).toEqual({ bytes: png, type: "image/png" });
  expect(read(`data:image/png;base64,${base64.png}`, true)).toEqual({ bytes: png, type: "image/png" });
  expect(read(base64.png)).toEqual({ problem: "not_an_image_url" });
});

test("text that is not an image in Base64 is refused", () => {
  const others = [
    "data:text/html;base64,AAAA",
    "data:;base64,AAAA",
    "data:image/png,AAAA",
    "data:image/;base64,AAAA",
    "data:image/png;base64",
    "data:image/png;base64 ,AAAA",
    " data:text/plain,x",
  ];
  for (const other of others) {
    expect(read(other), other).toEqual({ problem: "not_an_image_url" });
    expect(read(other, true), other).toEqual({ problem: "not_an_image_url" });
  }
  expect(read("https://example.com/a.png")).toEqual({ problem: "not_an_image_url" });
  expect(read("https://example.com/a.png", true)).toEqual({ problem: "invalid_base64" });
});

test("a data URL without data is refused", () => {
  expect(read("data:image/png;base64,")).toEqual({ problem: "empty" });
  expect(read("data:image/png;base64, \n")).toEqual({ problem: "empty" });
  expect(read("", true)).toEqual({ problem: "empty" });
  expect(read("")).toEqual({ problem: "not_an_image_url" });
});

test("only the standard Base64 alphabet with its padding is accepted", () => {
  for (const data of [
    "iVBORw0KGg",
    "iVBORw0KGg=",
    "iVBORw0KGg===",
    "iVBORw0KGh==",
    "iVBO*w0K",
    "iVBORw0K-_-_",
    "%69VBOR",
    "iVBO=w0K",
    "====",
    "iVBORw0KGgo\u0041\u200b",
  ]) {
    expect(read(`data:image/png;base64,${data}`), data).toEqual({ problem: "invalid_base64" });
  }
});

test("line breaks are skipped", () => {
  const wrapped = base64.png.replaceAll(/.{76}/g, "$&\r\n");
  expect(wrapped).toContain("\r\n");
  expect(read(`data:image/png;base64,${wrapped}\n`)).toEqual({ bytes: png, type: "image/png" });
});

test("the limit applies to the decoded image, to the byte", () => {
  for (const length of [100, 101, 102]) {
    const text = buildPng(length).toBase64();
    expect(read(text, true, length)).toMatchObject({ type: "image/png" });
    expect(read(text, true, length - 1)).toEqual({ problem: "too_large" });
  }
  expect(read(buildPng(300).toBase64().replaceAll(/.{76}/g, "$&\r\n"), true, 300)).toMatchObject({ type: "image/png" });
});

test("text above the length limit is refused before it is decoded", () => {
  expect(read("!".repeat(200), true, 100)).toEqual({ problem: "too_large" });
  expect(read(" ".repeat(200), true, 100)).toEqual({ problem: "too_large" });
});

test("bytes of other formats are refused", () => {
  const encoder = new TextEncoder();
  for (const bytes of [encoder.encode("GIF89a......"), encoder.encode("<svg/>"), png.subarray(0, 7)]) {
    expect(read(`data:image/png;base64,${bytes.toBase64()}`)).toEqual({ problem: "unsupported_format" });
  }
});

/** What of an own input is a file, and inputs that cannot be checked or priced in a short time. */

import { expect, test } from "vitest";
import { parseOwnBody } from "../../../src/catalog/own-body.ts";
import { toRule } from "../../../src/catalog/own-price.ts";

const inline = "data:image/png;base64,iVBORw0KGgo=";
const properties = Object.fromEntries(
  "image imageUrl startImage image_url_1 reference_image_1 image_base64 audio_b64 b64 video_files end_frame_uri prompt style"
    .split(" ")
    .map((name) => [name, { type: "string" }]),
);
const parse = (input: object, more: object = {}, price: object = { task: 1 }) =>
  parseOwnBody({ schema: { type: "object", properties: { ...properties, ...more } }, price: toRule({ ...price }), reads: [] }, { input });

test.each(Object.keys(properties).filter((name) => name !== "prompt" && name !== "style"))("a text in %s is a file", (name) => {
  expect(parse({ [name]: "https://a.example/b" }).files).toMatchObject([{ at: [name] }]);
});

test("a text that is nothing but a file is one in every field; others are texts", () => {
  const id = `file_${"A".repeat(55)}`;
  expect(parse({ prompt: inline, style: ` ${id} ` }).files.map(({ at }) => at)).toEqual([["prompt"], ["style"]]);
  expect(parse({ prompt: `a picture of ${id}`, style: "data: none" }).files).toEqual([]);
  expect(parse({ style: id }, { style: { enum: [id] } }).files).toEqual([]);
});

test("items that must differ are at most 1,000", () => {
  const tags = { tags: { type: "array", items: { type: "integer" }, uniqueItems: true } };
  const count = (length: number) => Array.from({ length }, (_, at) => at);
  expect(parse({ tags: count(1_000) }, tags).violations).toEqual([]);
  expect(parse({ tags: count(1_001) }, tags).violations).toMatchObject([{ param: "input.tags", rule: "too_big_list" }]);
  expect(parse({ tags: [1, 1] }, tags).violations).toMatchObject([{ param: "input.tags" }]);
  expect(parse({ tags: count(5_000) }, { tags: { type: "array" } }).violations).toEqual([]);
});

test("a price that is not exact any more is no price", () => {
  const price = { second: 1e6, seconds: "style", factors: { prompt: { x: 1_000 } } };
  expect(parse({ prompt: "x", style: "3600" }, {}, price).violations).toEqual([{ param: "input.style", rule: "no_price" }]);
  expect(parse({ prompt: "x", style: "9" }, {}, price).violations).toEqual([]);
});

test.each<[object, unknown, object]>([
  [{ type: "string", pattern: "^[a-z]+$" }, "7", { rule: "wrong_form", allowed: { pattern: "^[a-z]+$" } }],
  [{ type: "string", minLength: 3 }, "ab", { rule: "wrong_form", allowed: { minLength: 3 } }],
  [{ type: "integer", multipleOf: 8 }, 12, { rule: "wrong_form", allowed: { multipleOf: 8 } }],
  [{ const: "wav" }, "mp3", { rule: "not_equal", values: { allowed: "wav" }, allowed: ["wav"] }],
  [{ enum: ["wav", "mp3"] }, "ogg", { rule: "not_one_of", values: { allowed: "wav, mp3" }, allowed: ["wav", "mp3"] }],
])("the violation of %j by %j says what is allowed", (schema, value, violation) => {
  expect(parse({ sound: value }, { sound: schema }).violations).toEqual([{ param: "input.sound", ...violation }]);
});

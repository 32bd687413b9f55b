/** The form of a model with its own input, made from the schema. */

import { expect, test } from "vitest";
import { buildBody, computeHold } from "../../../src/console/playground/body.ts";
import { fieldAt, formFields, toInputFields, toTyped } from "../../../src/console/playground/fields.ts";

const parameters = {
  type: "object",
  properties: {
    model: { type: "string", enum: ["kling-3"] },
    prompt: { type: "string" },
    input: {
      type: "object",
      properties: {
        prompt: { type: "string" },
        duration: { type: "string", enum: ["5", "10"], default: "5" },
        sound: { type: "boolean", default: false },
        seed: { anyOf: [{ type: "integer", minimum: 1, maximum: 9 }, { type: "null" }] },
        image_urls: { type: "array", items: { type: "string" }, maxItems: 4 },
        end_image_url: { anyOf: [{ type: "string" }, { type: "null" }] },
        tags: { type: "array", items: { type: "string" } },
        camera: { type: "object", properties: { zoom: { type: "number" } } },
      },
      required: ["prompt"],
    },
  },
  required: ["model"],
};
const schemaFields = toInputFields(parameters as never);
const fields = formFields(schemaFields);

test("enumerations are choices, numbers have limits, images share a tray, other lists and objects are JSON, and the prompt stands beside the input", () => {
  expect(fields).toMatchObject([
    { as: "text", name: "prompt", isRequired: true },
    { as: "choice", name: "input.duration", options: ["5", "10"], fallback: "5" },
    { as: "flag", name: "input.sound" },
    { as: "number", name: "input.seed", isWhole: true, minimum: 1, maximum: 9 },
    {
      as: "pictures",
      name: "pictures",
      most: 5,
      roles: ["image_urls", "end_image_url"],
      targets: [
        { key: "image_urls", isList: true },
        { key: "end_image_url", isList: false },
      ],
    },
    { as: "json", name: "input.tags" },
    { as: "json", name: "input.camera" },
  ]);
});

test("the filled form is the body, its price is that of the rule, and a record fills the form", () => {
  const typed = new Map(
    Object.entries({
      prompt: "sea",
      "input.duration": "10",
      "input.sound": "on",
      "input.seed": "7",
      "pictures.0.url": "https://a.example/b.png",
      "pictures.0.role": "image_urls",
      "pictures.1.url": "https://a.example/c.png",
      "pictures.1.role": "end_image_url",
      "pictures.2.url": "https://a.example/d.png",
    }).map(([name, text]) => [name, [text]]),
  );
  const body = buildBody(fields, typed, new Map());
  const images = ["https://a.example/b.png", "https://a.example/d.png"];
  expect(body).toEqual({
    prompt: "sea",
    input: { duration: "10", sound: true, seed: 7, image_urls: images, end_image_url: "https://a.example/c.png" },
  });
  const choice = {
    id: "kling-3",
    model: "kling-3",
    aliases: [],
    action: "video" as const,
    fields,
    price: { second: 0.1 },
    priceRule: { second: 0.1, seconds: "duration", factors: { sound: { true: 2, false: 1 } } },
    typicalSeconds: 1,
  };
  expect(computeHold(choice, body)).toBe(2_000_000);
  expect(computeHold(choice, { prompt: "sea" })).toBe(500_000);
  const again = toTyped(fields, { input: { prompt: "sea", duration: "10", seed: 7 } });
  expect(again.get("prompt")).toEqual(["sea"]);
  expect(again.get("input.duration")).toEqual(["10"]);
  expect(again.get("input.seed")).toEqual(["7"]);
});

test("the table of a model's fields has each image field by its own name", () => {
  expect(schemaFields.map(({ name }) => name)).toEqual(expect.arrayContaining(["input.image_urls", "input.end_image_url"]));
});

test("images of a record are in the tray again, and errors of their fields belong to it", () => {
  const again = toTyped(fields, { input: { image_urls: ["https://a.example/b.png"], end_image_url: "https://a.example/c.png" } });
  expect(again.get("pictures.0.url")).toEqual(["https://a.example/b.png"]);
  expect(again.get("pictures.1.role")).toEqual(["end_image_url"]);
  for (const param of ["input.image_urls[0]", "input.end_image_url"]) expect(fieldAt(fields, param)?.name).toBe("pictures");
  expect(fieldAt(fields, "input.tags[1]")?.name).toBe("input.tags");
});

test("one field for one image has the image itself, without a choice of its place", () => {
  const single = formFields(
    toInputFields({
      type: "object",
      properties: { input: { type: "object", properties: { image_url: { type: "string", format: "uri" } } } },
    }),
  );
  expect(single).toMatchObject([{ as: "pictures", most: 1, roles: [] }]);
  const typed = new Map([["pictures.0.url", ["https://a.example/b.png"]]]);
  expect(buildBody(single, typed, new Map())).toEqual({ input: { image_url: "https://a.example/b.png" } });
});

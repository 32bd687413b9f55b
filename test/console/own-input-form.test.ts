/** The form of a model with its own input, made from the schema. */

import { expect, test } from "vitest";
import { buildBody, computeHold } from "../../src/console/playground/body.ts";
import { toInputFields, toTyped } from "../../src/console/playground/fields.ts";

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
        image_urls: { type: "array", items: { type: "string" } },
        camera: { type: "object", properties: { zoom: { type: "number" } } },
      },
      required: ["prompt"],
    },
  },
  required: ["model"],
};
const fields = toInputFields(parameters as never);

test("enumerations are choices, numbers have limits, lists and objects are JSON, and the prompt stands beside the input", () => {
  expect(fields).toMatchObject([
    { as: "text", name: "prompt", isRequired: true },
    { as: "choice", name: "input.duration", options: ["5", "10"], fallback: "5" },
    { as: "flag", name: "input.sound" },
    { as: "number", name: "input.seed", isWhole: true, minimum: 1, maximum: 9 },
    { as: "json", name: "input.image_urls" },
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
      "input.image_urls": '["https://a.example/b.png"]',
    }).map(([name, text]) => [name, [text]]),
  );
  const body = buildBody(fields, typed, new Map());
  expect(body).toEqual({ prompt: "sea", input: { duration: "10", sound: true, seed: 7, image_urls: ["https://a.example/b.png"] } });
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

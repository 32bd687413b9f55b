/** Schemas that makers publish become bodies that the gateway takes. */

import { expect, test } from "vitest";
import { prepareSchema } from "../../src/catalog/own-schema.ts";
import { fetchInputSchema } from "../../scripts/support/maker-schemas.ts";

const input = {
  title: "SpeechInput",
  type: "object",
  "x-fal-order-properties": ["text", "voice"],
  properties: {
    text: { type: "string", maxLength: 5000, title: "Text" },
    voice: { allOf: [{ $ref: "#/components/schemas/Voice" }], default: "Rachel" },
    speed: { anyOf: [{ type: "number", minimum: 0.7, maximum: 1.2 }, { type: "null" }], default: 1 },
  },
  required: ["text"],
};
const schemas = { SpeechInput: input, Voice: { type: "string", enum: ["Rachel", "Aria"] }, SpeechOutput: { type: "object" } };
const answers: Record<string, object> = {
  "https://fal.ai/api/openapi/queue/openapi.json?endpoint_id=fal-ai%2Fspeech%2Fv2": {
    openapi: "3.0.4",
    paths: {
      "/fal-ai/speech/v2/requests/{request_id}/status": { get: {} },
      "/fal-ai/speech/v2": {
        post: { requestBody: { content: { "application/json": { schema: { $ref: "#/components/schemas/SpeechInput" } } } } },
      },
    },
    components: { schemas },
  },
  "https://api.replicate.com/v1/models/someone/speech": {
    latest_version: { openapi_schema: { components: { schemas: { ...schemas, Input: input } } } },
  },
};
let headers: unknown;
const ask = (async (url: string, init: RequestInit) => {
  headers = init.headers;
  const found = answers[url];
  return found ? Response.json(found) : new Response("", { status: 404 });
}) as typeof fetch;

test.each([
  ["fal", "fal-ai/speech/v2"],
  ["replicate", "someone/speech"],
])("%s: the schema stands by itself, and the gateway can check it", async (maker, model) => {
  const schema = await fetchInputSchema(maker, model, { ask, environment: { REPLICATE_API_TOKEN: "r8" } });
  expect(schema).toEqual({
    ...input,
    properties: { ...input.properties, voice: { allOf: [{ $ref: "#/$defs/Voice" }], default: "Rachel" } },
    $defs: { Voice: schemas.Voice },
  });
  expect(prepareSchema(schema, "body").violations).toEqual([]);
  expect(headers).toEqual(maker === "fal" ? {} : { authorization: "Bearer r8" });
});

test("an unknown maker and an unknown model are errors that say so", async () => {
  await expect(fetchInputSchema("minimax", "x", { ask })).rejects.toThrow("fal, replicate");
  await expect(fetchInputSchema("fal", "fal-ai/nothing", { ask })).rejects.toThrow("404");
});

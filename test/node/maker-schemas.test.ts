/** Schemas that makers publish become bodies that the gateway takes. */

import { expect, test } from "vitest";
import { prepareSchema } from "../../src/catalog/own-schema.ts";
import { schemaMakers } from "../../src/base/words.ts";
import { fetchInputSchema, makersWithSchemas, toDraftEntry } from "../../src/operations/maker-schemas.ts";

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
  "https://api.cloudflare.com/client/v4/accounts/acc/ai/models/schema?model=%40cf%2Fsomeone%2Fspeech": {
    success: true,
    result: {
      input: {
        $schema: "https://json-schema.org/draft/2020-12/schema",
        ...input,
        properties: { ...input.properties, voice: { type: "string" } },
      },
      output: {},
    },
  },
};
const settings = { REPLICATE_API_TOKEN: "r8", WORKERS_AI_ACCOUNT_ID: "acc", WORKERS_AI_API_TOKEN: "cf" };
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
  const found = await fetchInputSchema(maker, model, { ask, settings });
  const schema = "schema" in found ? found.schema : {};
  expect(schema).toEqual({
    ...input,
    properties: { ...input.properties, voice: { allOf: [{ $ref: "#/$defs/Voice" }], default: "Rachel" } },
    $defs: { Voice: schemas.Voice },
  });
  expect(prepareSchema(schema, "body").violations).toEqual([]);
  expect(headers).toEqual(maker === "fal" ? {} : { authorization: "Bearer r8" });
});

test("cloudflare: the schema is that of the account's API, without the name of its dialect", async () => {
  const found = await fetchInputSchema("cloudflare", "@cf/someone/speech", { ask, settings });
  expect(found).toEqual({ schema: { ...input, properties: { ...input.properties, voice: { type: "string" } } } });
  expect(headers).toEqual({ authorization: "Bearer cf" });
});

test("the API names every maker whose schemas can be fetched", () => {
  expect(schemaMakers).toEqual(makersWithSchemas);
});

test("an unknown maker, model, id or missing secret, and a maker that does not answer, are faults that say so", async () => {
  const fetched = (maker: string, model: string, more: object = {}) => fetchInputSchema(maker, model, { ask, settings, ...more });
  expect(await fetched("minimax", "x")).toEqual({ as: "unknown_maker" });
  expect(await fetched("toString", "x")).toEqual({ as: "unknown_maker" });
  expect(await fetched("fal", "fal-ai/nothing")).toEqual({ as: "no_schema" });
  for (const id of ["../account", "a/../b", "a b/c", "someone/speech?x=1", "a/b/c"])
    expect(await fetched("replicate", id)).toEqual({ as: "bad_id" });
  expect(await fetched("replicate", "someone/speech", { settings: {} })).toEqual({ as: "no_secret", variable: "REPLICATE_API_TOKEN" });
  expect(await fetched("cloudflare", "a/b", { settings: {} })).toEqual({ as: "no_secret", variable: "WORKERS_AI_ACCOUNT_ID" });
  const answering = (answer: () => Response) => ({ ask: (() => Promise.resolve(answer())) as typeof fetch });
  expect(
    await fetched(
      "fal",
      "a/b",
      answering(() => new Response("", { status: 503 })),
    ),
  ).toEqual({ as: "no_answer", status: 503 });
  expect(
    await fetched(
      "fal",
      "a/b",
      answering(() => new Response("no JSON")),
    ),
  ).toEqual({ as: "no_answer", status: 0 });
  expect(
    await fetched(
      "fal",
      "a/b",
      answering(() => new Response("x".repeat(2_000_001))),
    ),
  ).toEqual({ as: "no_answer", status: 0 });
  expect(
    await fetched(
      "fal",
      "a/b",
      answering(() => Response.json([])),
    ),
  ).toEqual({ as: "no_schema" });
});

test("an entry with a schema is hidden and has no price, and its kind is guessed from the name", () => {
  const kind = (model: string) => toDraftEntry("fal", model, {}).entry["kind"];
  expect(["fal-ai/kling-video/v3", "fal-ai/tts", "fal-ai/flux"].map(kind)).toEqual(["video", "file", "image"]);
  expect(toDraftEntry("fal", "fal-ai/kling-video/v3/pro", { type: "object" })).toEqual({
    id: "kling-video-v3-pro",
    entry: {
      kind: "video",
      body: { type: "object" },
      price: {},
      state: "hidden",
      routes: [{ provider: "fal", model: "fal-ai/kling-video/v3/pro" }],
    },
  });
});

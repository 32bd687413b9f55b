/** The operator's paths for models. */

import { modelDraft, modelEntry, soldModels } from "../../../src/api/schema/admin.ts";
import { modelRollback, newModelDraft } from "../../../src/api/schema/bodies.ts";
import { modelChangeQuery } from "../../../src/api/schema/queries.ts";
import { entryFields } from "../../../src/catalog/entries.ts";
import { answer, operators } from "../definition.ts";
import * as example from "../examples/index.ts";

const routes = [{ provider: "openai", model: "gpt-6.1-sol" }];
const entry = { kind: "text", price: { input: 1.5, output: 6 }, routes };
const sold = {
  id: "gpt-6.1-sol",
  kind: "text",
  built_in: false,
  state: "live",
  aliases: [],
  like: "textA-1",
  price: { input_million_tokens: 1.5, output_million_tokens: 6 },
  typical_seconds: 60,
  deadline_seconds: null,
  routes: [{ ...routes[0], on: true }],
};
const shown = {
  object: "model_entry",
  id: sold.id,
  revision: 7,
  entry: { id: sold.id, ...entry },
  model: sold,
  revisions: [{ revision: 7, at: 1_793_491_200, removed: false }],
};
const entryAnswer = (description: string) => answer(description, modelEntry, { model: shown });
const unknown = { code: "model_not_found", status: 404 } as const;
const change =
  "`revision` is the one that the change is based on, as `GET` returned it. If the model was changed meanwhile, or has an entry and no `revision` is given, the answer is 409 and names the newest revision and each field that it changed. A change is live everywhere within ten seconds; accepted tasks keep their price and routes.";

export const adminModels = operators({
  "GET /admin/models": {
    id: "listSoldModels",
    summary: "List models with prices and routes",
    description: "Also hidden ones.",
    answers: { 200: answer("All models.", soldModels, { models: example.page(sold) }) },
  },
  "GET /admin/models/{model}": {
    id: "getModelEntry",
    summary: "Show a model's entry",
    answers: { 200: entryAnswer("The operator's entry, the model as it is sold, and its revisions.") },
    errors: [unknown],
  },
  "PUT /admin/models/{model}": {
    id: "putModelEntry",
    summary: "Add or change a model",
    description: `A text model needs \`price\` and \`routes\`; an image or video model also \`body\`. An entry with the id of a built-in model has only what differs: \`price\`, \`routes\`, \`state\`, times. \`body\` is \`like:\` and the id of a built-in model: its body, defaults and limits; or the JSON Schema of the upstream's own input, with a \`price\` that reads its fields (\`docs/models.md\`). \`price\` has balance units by what is counted, as in \`/v1/models\`; a name with \`_x\` is a factor: \`second\`, \`1080p_x\`. \`retires\` of a route is the day on which the maker ends the upstream model: from its beginning (UTC) the route is passed over. \`cost\` of a route is what an attempt costs you, by the names of prices, or by what the maker reports: \`input\`, \`cached_input\` and \`output\` tokens in millions, \`run_second\` of its machine, \`usd\` of its own cost report; \`bills_failures\` says that it bills failed and refused work too. \`first_without_images\` puts a route before the others for requests without images and characters. ${change}`,
    query: modelChangeQuery(),
    body: {
      schema: entryFields(),
      examples: {
        text: entry,
        like: {
          kind: "video",
          body: "like:vidC-1-0-pro-fast",
          price: { second: 0.04 },
          routes: [{ provider: "fal", model: "bytedance/seedance-2.0/fast" }],
        },
        own_input: {
          kind: "file",
          body: {
            type: "object",
            properties: { text: { type: "string", maxLength: 5000 }, voice: { type: "string", default: "Rachel" } },
            required: ["text"],
          },
          price: { task: 0.1 },
          routes: [{ provider: "fal", model: "fal-ai/elevenlabs/tts/multilingual-v2" }],
        },
        price: { price: { image: 0.02 } },
      },
    },
    answers: { 200: entryAnswer("The entry as it is now, or as it would be."), 201: entryAnswer("The first entry of this model.") },
    errors: ["conflict"],
    violation: { param: "price.input", rule: "required" },
  },
  "DELETE /admin/models/{model}": {
    id: "deleteModelEntry",
    summary: "Remove a model's entry",
    description: `A built-in model is as it was built in; another one is not sold any more. ${change}`,
    query: modelChangeQuery(),
    body: "none",
    answers: { 204: { description: "The entry is removed." } },
    errors: ["conflict", unknown],
  },
  "POST /admin/model_drafts": {
    id: "draftModelEntry",
    summary: "Begin an entry with a maker's schema",
    description:
      "Asks the maker for the JSON Schema of a model's input and answers with an entry that has it. Nothing is stored: give it a price and `PUT` it. Needs the maker's secret, except for fal.",
    body: { schema: newModelDraft(), examples: { fal: { maker: "fal", model: "fal-ai/elevenlabs/tts/multilingual-v2" } } },
    answers: {
      200: answer("An entry to complete.", modelDraft, {
        draft: {
          object: "model_draft",
          id: "elevenlabs-tts-multilingual-v2",
          entry: {
            kind: "file",
            body: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
            price: {},
            state: "hidden",
            routes: [{ provider: "fal", model: "fal-ai/elevenlabs/tts/multilingual-v2" }],
          },
        },
      }),
    },
    violation: { param: "model", rule: "maker_no_schema", values: { maker: "fal" } },
  },
  "POST /admin/models/{model}/rollback": {
    id: "rollBackModelEntry",
    summary: "Return to an earlier revision",
    description: `The earlier entry is checked again and becomes the newest revision. ${change}`,
    query: modelChangeQuery(),
    body: { schema: modelRollback(), examples: { revision: { revision: 5 } } },
    answers: { 200: entryAnswer("The entry as it is now, or as it would be.") },
    errors: ["conflict", unknown],
    violation: { param: "revision", rule: "not_one_of", values: { allowed: "7, 6, 5" }, allowed: [7, 6, 5] },
  },
});

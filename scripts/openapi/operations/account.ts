/** Models, characters, balances, usage. */

import { balance, characterList, usageList } from "../../../src/api/schema/account.ts";
import { modelEntry, modelList } from "../../../src/api/schema/models.ts";
import { pageQuery, usageQuery } from "../../../src/api/schema/queries.ts";
import { answer, json, notModified, tagged, type Untagged } from "../definition.ts";
import * as example from "../examples/index.ts";

const model = {
  id: "imgA-4",
  object: "model",
  created: 1_793_491_200,
  owned_by: "gateway",
  kind: "image",
  aliases: [],
  parameters: {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    properties: {
      model: { type: "string", enum: ["imgA-4"] },
      prompt: { type: "string", minLength: 1, maxLength: 1000 },
      n: { type: "integer", minimum: 1, maximum: 4, default: 1 },
    },
    required: ["model", "prompt"],
  },
  price: { image: 0.03, image_hd: 0.06 },
};

const balanceOperation = (id: string, summary: string, description: string): Untagged => ({
  id,
  summary,
  description,
  answers: {
    200: answer(
      "In balance units. `remain_balance` is `-1` if there is no limit.",
      balance,
      {
        limited: { success: true, remain_balance: 98.89, used_balance: 1.08, unlimited_quota: false },
        unlimited: { success: true, remain_balance: -1, used_balance: 1.08, unlimited_quota: true },
      },
      ["access-control-allow-origin"],
    ),
  },
});
const ofKey = "What the calling key has left and has used.";
const ofAccount = "What the account has left and has used.";

export const account = tagged("account", {
  "GET /v1/models": {
    id: "listModels",
    tag: "models",
    summary: "List models",
    description: "The models that are available now, with the JSON Schema of each model's body and its prices.",
    headers: ["If-None-Match"],
    answers: {
      200: answer("Every model with a usable route.", modelList, { models: { object: "list", data: [model] } }, ["etag", "cache-control"]),
      304: notModified(),
    },
  },
  "GET /v1/models/{model}": {
    id: "getModel",
    tag: "models",
    summary: "Show a model",
    headers: ["If-None-Match"],
    answers: {
      200: answer("The model.", modelEntry, { model }, ["etag", "cache-control", "sunset"]),
      304: notModified("sunset"),
    },
    errors: [{ code: "model_not_found", status: 404 }],
  },
  "GET /v1/characters": {
    id: "listCharacters",
    tag: "characters",
    summary: "List characters",
    description: "The account's characters, newest first.",
    query: pageQuery(),
    answers: {
      200: answer("A page of characters.", characterList, { characters: example.page(example.listedCharacter) }),
    },
  },
  "DELETE /v1/characters/{character_id}": {
    id: "deleteCharacter",
    tag: "characters",
    summary: "Delete a character",
    answers: { 204: { description: "The character is deleted." } },
    errors: ["character_not_found"],
  },
  "GET /v1/balance": balanceOperation("getKeyBalance", "Balance of the key", ofKey),
  "GET /balance": balanceOperation(
    "getKeyBalanceWithoutPrefix",
    "Balance of the key, without the prefix",
    `${ofKey} The same as \`/v1/balance\`.`,
  ),
  "GET /v1/user/balance": balanceOperation("getAccountBalance", "Balance of the account", ofAccount),
  "GET /user/balance": balanceOperation(
    "getAccountBalanceWithoutPrefix",
    "Balance of the account, without the prefix",
    `${ofAccount} The same as \`/v1/user/balance\`.`,
  ),
  "GET /v1/usage": {
    id: "getUsage",
    summary: "Usage by day, model, key or reference",
    description: "What the account was charged, at most 92 days in one request. Days are in UTC.",
    query: usageQuery(),
    answers: {
      200: {
        description: "A row for each group, or a table for cost tools.",
        headers: ["content-disposition"],
        content: {
          ...json(usageList, {
            by_day: { object: "list", data: [{ day: "2026-11-22", charged: 1.08, returned: 0.03, completed: 3, failed: 1 }] },
            by_model: { object: "list", data: [{ model: "vidA-2", charged: 1, returned: 0, completed: 1, failed: 0 }] },
          }),
          "text/csv": {},
        },
      },
    },
    violation: { param: "from", rule: "bad_date" },
  },
});

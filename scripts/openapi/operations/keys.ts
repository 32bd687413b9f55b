/** The calling key, and tokens for browsers. */

import { newToken } from "../../../src/api/schema/bodies.ts";
import { browserToken, ownKey } from "../../../src/api/schema/keys.ts";
import { json, type Operations } from "../definition.ts";
import * as example from "../examples/index.ts";

export const keys: Operations = {
  "GET /v1/key": {
    id: "getKey",
    tag: "account",
    summary: "Show the calling key",
    description: "Its name, its limits and what is left of them.",
    answers: { 200: { description: "The key, without its secret.", content: json(ownKey, { key: example.ownKey }) } },
    errors: ["not_found"],
  },
  "POST /v1/tokens": {
    id: "createToken",
    tag: "account",
    summary: "Create a token for browsers",
    description:
      "The token can submit at most `tasks` tasks that reserve at most `max_cost` together, and read and cancel those. It stops working after `expires_in` seconds, or with the key that created it. With `origin`, only that site's pages may use it.",
    body: {
      schema: newToken(),
      examples: {
        one_image: { tasks: 1, max_cost: 0.05, expires_in: 300, kinds: ["image"] },
        narrowed: { tasks: 5, max_cost: 2, expires_in: 3600, models: ["imgA-4"], origin: "https://shop.example" },
      },
    },
    answers: {
      201: {
        description: "The token. Only this answer shows it.",
        headers: ["cache-control"],
        content: json(browserToken, { token: example.browserToken }),
      },
    },
    violation: { param: "origin", rule: "bad_origin" },
  },
};

/** The calling key, and client tokens. */

import { newToken } from "../../../src/api/schema/bodies.ts";
import { clientToken, ownKey } from "../../../src/api/schema/keys.ts";
import { answer, tagged } from "../definition.ts";
import * as example from "../examples/index.ts";

export const keys = tagged("account", {
  "GET /v1/key": {
    id: "getKey",
    summary: "Show the calling key",
    description: "Its name, its limits and what is left of them.",
    answers: { 200: answer("The key, without its secret.", ownKey, { key: example.ownKey }) },
    errors: ["not_found"],
  },
  "POST /v1/tokens": {
    id: "createToken",
    summary: "Create a client token",
    description:
      "The token can submit at most `tasks` tasks that reserve at most `max_cost` together, and read and cancel those. It stops working after `expires_in` seconds, or with the key that created it. With `origin`, only that site's pages may use it. Its submissions cannot set `callback_url` or `reference`, or mention characters that `characters` does not name. It has limits of its own: 10 submissions and 120 reads a minute; after three refused submissions each further one uses up a task.",
    body: {
      schema: newToken(),
      examples: {
        one_image: { tasks: 1, max_cost: 0.05, expires_in: 300, kinds: ["image"] },
        narrowed: { tasks: 5, max_cost: 2, expires_in: 3600, models: ["imgA-4"], origin: "https://shop.example" },
        fixed: {
          tasks: 1,
          max_cost: 2,
          expires_in: 600,
          kinds: ["video"],
          characters: ["amber.fox"],
          callback_url: "https://shop.example/hook",
          reference: "customer 7",
        },
      },
    },
    answers: {
      201: answer("The token. Only this answer shows it.", clientToken, { token: example.clientToken }, ["cache-control"]),
    },
    violation: { param: "origin", rule: "bad_origin" },
  },
});

/** Destinations: the account's buckets for delivery. */

import { destinationChange } from "../../../src/api/schema/bodies.ts";
import { destination, destinationList, destinationTest } from "../../../src/api/schema/destinations.ts";
import { answer, tagged } from "../definition.ts";
import * as example from "../examples/index.ts";

const given = {
  kind: "s3",
  endpoint: "https://s3.eu-central-1.amazonaws.com",
  bucket: "shop-media",
  region: "eu-central-1",
  access_key_id: "AKIAIOSFODNN7EXAMPLE",
  prefix: "videos/",
};
const at = 1_795_305_600;
const shown = { object: "destination", name: "shop", ...given, created_at: at, changed_at: at };
const one = answer("The destination.", destination, { destination: shown });

export const destinations = tagged("delivery", {
  "GET /v1/destinations": {
    id: "listDestinations",
    summary: "List destinations",
    description: "All of them, by name.",
    answers: { 200: answer("The account's destinations.", destinationList, { destinations: example.page(shown) }) },
  },
  "GET /v1/destinations/{destination}": {
    id: "getDestination",
    summary: "Show a destination",
    answers: { 200: one },
    errors: ["destination_not_found"],
  },
  "PUT /v1/destinations/{destination}": {
    id: "setDestination",
    summary: "Create or replace a destination",
    description: "The secret access key is sealed and never shown again. An account has at most 20 destinations.",
    body: {
      schema: destinationChange(),
      examples: { bucket: { ...given, secret_access_key: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY" } },
    },
    answers: { 200: one },
    errors: ["too_many_destinations"],
    violation: { param: "endpoint", rule: "bad_callback_url" },
  },
  "DELETE /v1/destinations/{destination}": {
    id: "deleteDestination",
    summary: "Delete a destination",
    description: "Deliveries to it that have not ended fail with their next attempt.",
    answers: { 204: { description: "The destination is deleted." } },
    errors: ["destination_not_found"],
  },
  "POST /v1/destinations/{destination}/test": {
    id: "testDestination",
    summary: "Test a destination",
    description: "Writes, reads and deletes a small object there, and returns the outcome of each.",
    body: "none",
    answers: {
      200: answer("The outcome of each request that was made.", destinationTest, {
        ok: {
          object: "destination.test",
          name: "shop",
          ok: true,
          write: { ms: 84, status: 200 },
          read: { ms: 31, status: 200 },
          delete: { ms: 29, status: 204 },
        },
        forbidden: { object: "destination.test", name: "shop", ok: false, write: { ms: 84, status: 403, code: "AccessDenied" } },
      }),
    },
    errors: ["destination_not_found"],
  },
});

/** Receipts of final tasks, and the keys that verify them. */

import { receiptAnswer, receiptKeys } from "../../../src/api/schema/receipts.ts";
import { json, type Operations } from "../definition.ts";
import * as example from "../examples/index.ts";

export const receipts: Operations = {
  "GET /v1/tasks/{task_id}/receipt": {
    id: "getReceipt",
    tag: "receipts",
    summary: "Show a task's receipt",
    description: "Created at the first request; later requests return the same receipt. Verify `jws` with `/.well-known/jwks.json`.",
    answers: {
      200: { description: "The receipt, and the same as a compact JWS.", content: json(receiptAnswer, { receipt: example.receiptAnswer }) },
    },
    errors: ["task_not_found", "task_not_final"],
  },
  "GET /.well-known/jwks.json": {
    id: "getReceiptKeys",
    tag: "receipts",
    summary: "Show the keys that verify receipts",
    description: "As a JSON Web Key Set (RFC 7517): the current key first, then retired ones.",
    security: "none",
    answers: {
      200: {
        description: "The public keys.",
        headers: ["cache-control", "access-control-allow-origin"],
        content: json(receiptKeys, { keys: example.receiptKeys }),
      },
    },
  },
};

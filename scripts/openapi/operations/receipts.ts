/** Receipts of final tasks, the keys that verify them, and whether a file was made here. */

import { receiptAnswer, receiptKeys, verification } from "../../../src/api/schema/receipts.ts";
import { answer, tagged } from "../definition.ts";
import * as example from "../examples/index.ts";

export const receipts = tagged("receipts", {
  "GET /v1/tasks/{task_id}/receipt": {
    id: "getReceipt",
    summary: "Show a task's receipt",
    description: "Created at the first request; later requests return the same receipt. Verify `jws` with `/.well-known/jwks.json`.",
    answers: {
      200: answer("The receipt, and the same as a compact JWS.", receiptAnswer, { receipt: example.receiptAnswer }),
    },
    errors: ["task_not_found", "task_not_final"],
  },
  "GET /.well-known/jwks.json": {
    id: "getReceiptKeys",
    summary: "Show the keys that verify receipts",
    description: "As a JSON Web Key Set (RFC 7517): the current key first, then retired ones.",
    security: "none",
    answers: {
      200: answer("The public keys.", receiptKeys, { keys: example.receiptKeys }, ["cache-control", "access-control-allow-origin"]),
    },
  },
  "GET /v1/verify/{sha256}": {
    id: "verifyFile",
    summary: "Ask whether a file was made here",
    description:
      "For everyone: no key, any origin, 60 questions a minute from one address. The answer names no account, no prompt and no model. A file is known a few seconds after its task has completed, and as long as the operator keeps proofs (400 days by default). A file that was cut, scaled or saved again has another SHA-256.",
    security: "none",
    answers: {
      200: answer("The file was made here.", verification, { made_here: example.verification }, [
        "cache-control",
        "access-control-allow-origin",
      ]),
    },
    errors: ["invalid_request", "not_made_here", "rate_limit_exceeded"],
    violation: { param: "sha256", rule: "not_sha256" },
  },
});

/** Schemas of the audit log's answers. */

import * as z from "zod/mini";
import { acts } from "../../base/acts.ts";
import { listAnswer, time } from "./shared.ts";

const facts = z.nullable(
  z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null(), z.array(z.string())]))
    .check(z.describe("In the words and units of other answers. Never a secret.")),
);
export const auditEntry = z.strictObject({
  object: z.literal("audit_entry"),
  id: z.string().check(z.regex(/^aud_[0-9A-Za-z]{22}$/)),
  at: time,
  act: z.enum(acts),
  actor: z.strictObject({
    kind: z.enum(["user", "key", "operator", "system"]),
    id: z
      .nullable(z.string())
      .check(z.describe("Of the user or the key; the name of the part of the gateway; null for the operator's token.")),
    name: z.nullable(z.string()).check(z.describe("The user's e-mail address or the key's name today; null if it was erased.")),
  }),
  address: z.nullable(z.string()).check(z.describe("The IP address.")),
  target: z.nullable(
    z.strictObject({
      id: z.string().check(z.describe("Of what was changed: a key, a user, a wallet; or the name of a destination or a model.")),
      name: z.nullable(z.string()),
    }),
  ),
  before: facts,
  after: facts,
});
/** The acts of an account, newest first. */
export const auditLog = listAnswer(auditEntry);

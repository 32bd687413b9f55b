/** Schemas of API keys, as the operator and the key's owner see them, and of client tokens. */

import * as z from "zod/mini";
import { count, listAnswer, quotaFields, time } from "./shared.ts";
import { workKinds } from "../../base/words.ts";

const keyFields = {
  id: z.string(),
  name: z.string(),
  prefix: z.string(),
  created_at: time,
  expires_at: z.nullable(time),
  paused_at: z.nullable(time).check(z.describe("Since when the key is refused, until it is resumed; null while it works.")),
  ...quotaFields,
  models: z.nullable(z.array(z.string())).check(z.describe("The only models that the key may use; null is all.")),
  kinds: z.nullable(z.array(z.enum(workKinds))).check(z.describe("The only kinds that the key may submit; null is all.")),
  max_open_tasks: z.nullable(count).check(z.describe("How many of the key's tasks may be open at once; null is the account's limit.")),
};
export const apiKey = z.strictObject({ ...keyFields, account_id: z.string() });
export const apiKeyList = listAnswer(apiKey);
/** The only answer that shows the key itself. */
export const newApiKey = z.extend(apiKey, { key: z.string().check(z.startsWith("sk-"), z.describe("Shown only in this answer.")) });
export const ownKey = z.strictObject({
  ...keyFields,
  object: z.literal("key"),
  open_tasks: count,
});

export const clientToken = z.strictObject({
  token: z.string().check(z.regex(/^st-[\w-]{71}$/), z.describe("Shown only in this answer.")),
  expires_at: time,
});

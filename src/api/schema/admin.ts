/** The shape of the operator's answers: accounts, keys, the audit. */

import * as z from "zod/mini";
import { amount, count, limited, listAnswer, time } from "./shared.ts";

const quotaFields = {
  quota: limited.check(z.describe("null is unlimited.")),
  used: amount,
  reserved: amount,
  remaining: limited,
};
export const account = z.strictObject({
  id: z.string(),
  email: z.string(),
  name: z.nullable(z.string()),
  disabled: z.boolean(),
  admin: z.boolean(),
  created_at: time,
  ...quotaFields,
});
export const accountList = listAnswer(account);
export const apiKey = z.strictObject({
  id: z.string(),
  account_id: z.string(),
  name: z.string(),
  prefix: z.string(),
  created_at: time,
  expires_at: z.nullable(time),
  ...quotaFields,
});
export const apiKeyList = listAnswer(apiKey);
/** The only answer that shows the key itself. */
export const newApiKey = z.extend(apiKey, { key: z.string().check(z.startsWith("sk-"), z.describe("Shown this once.")) });
export const invitation = z.strictObject({ url: z.url(), expires_at: time });
export const audit = z.strictObject({
  accounts: count,
  tasks_open: count,
  reserved: amount,
  drift: z
    .array(z.strictObject({ id: z.string(), reserved: z.number(), used: z.number(), ledger_reserved: z.number(), ledger_used: z.number() }))
    .check(z.describe("Every account or key whose sums disagree with the ledger.")),
  progress: z.strictObject({
    complete: z.boolean(),
    accounts_checked: z.int(),
    entries_checked: z.int(),
    account: z.nullable(z.string()),
    started_at: z.int(),
  }),
});

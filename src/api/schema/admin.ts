/** Schemas of the operator's answers: accounts, invitations, the audit. */

import * as z from "zod/mini";
import { amount, count, listAnswer, quotaFields, time } from "./shared.ts";

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
export const reconciliation = z.strictObject({
  object: z.literal("reconciliation"),
  accounts: count,
  settled: count.check(z.describe("Open entries whose tasks had ended, settled again.")),
  returned: count.check(z.describe("Reservations without a task, and grants of lost wallets, returned to their quotas.")),
  open: count.check(z.describe("Open tasks and chats, and lost wallets that they may still claim from.")),
  after: z.nullable(z.string()).check(z.describe("The `after` of the next call; null when all is done.")),
});

/** Schemas of the operator's answers: accounts, invitations, the audit. */

import * as z from "zod/mini";
import { fileFamilies } from "../../base/words.ts";
import { violation } from "./errors.ts";
import { amount, count, listAnswer, quotaFields, time } from "./shared.ts";

export const account = z.strictObject({
  id: z.string(),
  email: z.string(),
  name: z.nullable(z.string()),
  disabled: z.boolean(),
  restored: z
    .boolean()
    .check(
      z.describe(
        "True if the database was restored and lacks later changes of the account's keys, roles or webhook: its keys are refused until `POST /admin/reconcile` has a decision.",
      ),
    ),
  admin: z.boolean(),
  created_at: time,
  ...quotaFields,
  shortfall: amount.check(
    z.describe("By how much use exceeds the quota after a refund or dispute: nothing new is accepted until it is covered."),
  ),
});
export const accountList = listAnswer(account);

/** A code without its text, which is shown once. */
export const code = z.strictObject({
  object: z.literal("code"),
  id: z.string(),
  series: z.string().check(z.describe("The request that made it.")),
  amount,
  note: z.nullable(z.string()),
  state: z.enum(["open", "redeemed", "revoked", "expired"]),
  created_at: time,
  expires_at: z.nullable(time),
  redeemed_by: z.nullable(z.string().check(z.describe("An account's id."))),
  redeemed_at: z.nullable(time),
});
export const codeList = listAnswer(code);
export const codeSeries = z.strictObject({
  object: z.literal("code_series"),
  id: z.string(),
  amount,
  note: z.nullable(z.string()),
  created_at: time,
  expires_at: z.nullable(time),
  codes: z
    .array(z.strictObject({ id: z.string(), code: z.string().check(z.regex(/^[0-9A-Z]{5}(-[0-9A-Z]{5}){3}$/)) }))
    .check(z.describe("Shown only here: the gateway stores their hashes.")),
});
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
export const testAlert = z.strictObject({
  object: z.literal("test_alert"),
  receivers: z
    .array(z.strictObject({ receiver: z.enum(["webhook", "mail"]), delivered: z.boolean(), reason: z.optional(z.string()) }))
    .check(z.describe("Every receiver that is configured; empty if alerts are only logged.")),
});
export const reconciliation = z.strictObject({
  object: z.literal("reconciliation"),
  accounts: count,
  settled: count.check(z.describe("Open entries whose tasks had ended, settled again.")),
  returned: count.check(z.describe("Reservations without a task, and grants of lost wallets, returned to their quotas.")),
  open: count.check(z.describe("Open tasks and chats, and lost wallets that they may still claim from.")),
  restored: z
    .array(
      z.strictObject({
        account: z.string(),
        state: z.enum(["refused", "replayed", "accepted"]),
        changes: z.array(z.strictObject({ change: z.string(), id: z.optional(z.string()) })),
      }),
    )
    .check(
      z.describe(
        "Accounts whose database was restored to before changes of their keys, roles, limits or webhook, with these changes. `refused`: their keys are refused until a call with `restored` decides.",
      ),
    ),
  after: z.nullable(z.string()).check(z.describe("The `after` of the next call; null when all is done.")),
});

const marginSums = {
  revenue: amount.check(z.describe("What callers paid.")),
  cost: amount.check(z.describe("What the makers bill, as far as it is known: for every attempt, also failed and late ones.")),
  margin: z.number().check(z.describe("`revenue` less `cost`.")),
  completed: count,
  failed: count.check(z.describe("Tasks and chats without a result, also cancelled ones.")),
  uncosted: count.check(z.describe("Attempts whose cost is not known, because the route has no `cost` or its maker reported nothing.")),
};
export const margins = z.strictObject({
  object: z.literal("list"),
  data: z.array(
    z.strictObject({
      model: z.optional(z.string()),
      route: z.optional(z.string().check(z.describe("The provider and the model there; empty if it is not known."))),
      account: z.optional(z.string()),
      day: z.optional(z.string()),
      ...marginSums,
    }),
  ),
  total: z.strictObject(marginSums),
});

const soldModel = z.strictObject({
  id: z.string(),
  kind: z.enum(["text", ...fileFamilies]),
  built_in: z.boolean(),
  state: z.enum(["live", "hidden"]),
  title: z.optional(z.string()),
  aliases: z.array(z.string()),
  like: z.optional(
    z.string().check(z.describe("The built-in model whose body, limits and roles it has; absent for a model with its own input.")),
  ),
  price: z
    .record(z.string(), z.unknown())
    .check(z.describe("As `price` in `/v1/models`; of a model with its own input as `price_rule` there.")),
  typical_seconds: z.int(),
  deadline_seconds: z.nullable(z.int()).check(z.describe("null for text.")),
  routes: z
    .array(
      z.strictObject({
        provider: z.string(),
        model: z.string(),
        settings: z.optional(z.record(z.string(), z.unknown())),
        retires: z.optional(z.string()),
        cost: z.optional(z.record(z.string(), z.unknown()).check(z.describe("In balance units; of an own input as its `price_rule`."))),
        bills_failures: z.optional(z.boolean()),
        first_without_images: z.optional(z.boolean()),
        on: z.boolean().check(z.describe("False if the provider has no secret, and the route is passed over.")),
      }),
    )
    .check(z.describe("In the order in which they are tried.")),
  refused: z.optional(
    z
      .array(violation)
      .check(z.describe("In the list: what this release refuses of your entry, which passed when it was saved. It stays in use.")),
  ),
});
export const soldModels = listAnswer(soldModel);
export const modelDraft = z.strictObject({
  object: z.literal("model_draft"),
  id: z.string().check(z.describe("A proposal.")),
  entry: z.record(z.string(), z.unknown()).check(z.describe("With the maker's schema as `body`, hidden and without a price: not stored.")),
});
export const modelEntry = z.strictObject({
  object: z.literal("model_entry"),
  id: z.string(),
  revision: z.int().check(z.describe("The newest revision of the operator's entry; 0 if there never was one.")),
  entry: z.nullable(z.record(z.string(), z.unknown())).check(z.describe("The operator's entry; null if there is none.")),
  model: z.nullable(soldModel).check(z.describe("The model with its entry and built-in values; null if it was removed.")),
  revisions: z.array(z.strictObject({ revision: z.int(), at: time, removed: z.boolean() })).check(z.describe("Newest first, at most 100.")),
  dry_run: z.optional(z.literal(true)),
});

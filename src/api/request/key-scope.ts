/** The models and kinds that a key is limited to, and its budget: reads them from requests, shows them in answers, and enforces them. */

import type { Catalog } from "../../catalog/catalog.ts";
import type { ApiKey } from "../../db/api-keys.ts";
import type { Caller, KeyScope } from "../../db/callers.ts";
import { remaining, toUnits } from "../../db/ledger.ts";
import { ApiError, notOneOf } from "../../base/errors.ts";
import type { WalletView } from "../../wallet/limits.ts";
import { toSeconds } from "../../base/times.ts";

/** The canonical names of models. */
export const canonical = (catalog: Catalog, names: string[]) => names.map((name) => catalog.named(name)?.id ?? name);

/** The fields of the request. */
interface Given {
  models?: string[] | null | undefined;
  kinds?: string[] | null | undefined;
  max_open_tasks?: number | null | undefined;
}

/** The scope of a key after a change: fields that are missing stay unchanged. */
export function changeScope(catalog: Catalog, before: KeyScope, given: Given): KeyScope {
  const { models = before.models, kinds = before.kinds, max_open_tasks: max = before.maxOpenTasks } = given;
  return { models: models ? canonical(catalog, models) : undefined, kinds: kinds ?? undefined, maxOpenTasks: max ?? undefined };
}

const scopeView = ({ models, kinds, maxOpenTasks }: KeyScope) => ({
  models: models ?? null,
  kinds: kinds ?? null,
  max_open_tasks: maxOpenTasks ?? null,
});

/** A budget, the amount spent in its window, and the remaining amount. */
const budgetView = (budget: WalletView["budget"]) =>
  budget && {
    amount: toUnits(budget.amount),
    window: budget.window,
    spent: toUnits(budget.spent),
    remaining: toUnits(Math.max(0, budget.amount - budget.spent)),
    ends_at: toSeconds(budget.until),
  };

/** The money of an account or key. Throws if it does not exist, which is an internal error. */
export function balanceView(balance: WalletView | undefined) {
  if (!balance) throw new ApiError("internal_error");
  const left = remaining(balance);
  return {
    quota: balance.quota === null ? null : toUnits(balance.quota),
    used: toUnits(balance.used),
    reserved: toUnits(balance.reserved),
    remaining: left === null ? null : toUnits(left),
    budget: budgetView(balance.budget),
  };
}

/** A key, its limits and its money. */
export const keyView = (key: ApiKey, balance: WalletView | undefined) => ({
  id: key.id,
  name: key.name,
  prefix: key.prefix,
  created_at: toSeconds(key.createdAt),
  expires_at: toSeconds(key.expiresAt),
  paused_at: toSeconds(key.pausedAt),
  ...scopeView(key.scope),
  ...balanceView(balance),
});

/** Throws `key_scope` if the caller's key or client token may not use this model or kind. */
export function requireScope({ scope, token }: Caller, kind: string, model: string): void {
  // What a token may use is one list: a stranger learns nothing about its key's own limits.
  const kinds = intersect(scope?.kinds, token?.scope.kinds);
  const models = intersect(scope?.models, token?.scope.models);
  if (kinds && !kinds.includes(kind)) throw outside("kind", kinds);
  if (models && !models.includes(model)) throw outside("model", models);
}

/** A missing list allows everything. */
const intersect = (some: string[] | undefined, others: string[] | undefined) =>
  some && others ? some.filter((one) => others.includes(one)) : (some ?? others);

const outside = (param: string, allowed: string[]) => new ApiError("key_scope", { violations: [notOneOf(param, allowed)] });

/** The form of an API key, for creating and changing one: its fields and their values. */

import type { Budget } from "../../db/grants.ts";
import type { KeyScope } from "../../db/callers.ts";
import { parseQuota } from "../amounts.ts";
import type { ConsoleContext } from "../frame.tsx";
import { TextField } from "../parts/field.tsx";
import { balanceUnit } from "../settings.ts";
import { BudgetFields, readBudget } from "./budget.tsx";
import { readScope, ScopeFields } from "./scope.tsx";

/** A key expires at the end of the chosen day, UTC. */
const endOfDay = (day: string) => Date.parse(`${day}T23:59:59Z`);
const toDay = (ms: number | null) => (ms === null ? "" : new Date(ms).toISOString().slice(0, 10));

interface FieldsOfKey {
  c: ConsoleContext;
  name?: string;
  /** The typed text. */
  quota?: string;
  budget?: Budget | null;
  scope?: KeyScope;
  /** undefined: the key was replaced, and its overlap ends when its owner chose. */
  expiresAt?: number | null | undefined;
}

export const KeyFields = ({ c, name, quota, budget = null, scope = {}, expiresAt }: FieldsOfKey) => {
  const { t } = c.var;
  const unit = balanceUnit(c.env);
  return (
    <>
      <TextField name="name" label={t("key_name")} maxlength={200} value={name} required />
      <TextField name="quota" label={t("quota")} opt={unit} inputmode="decimal" value={quota} hint={t("quota_hint", { unit })} />
      <BudgetFields c={c} budget={budget} />
      <ScopeFields c={c} scope={scope} />
      {expiresAt !== undefined && (
        <TextField name="expires" type="date" label={t("expires")} value={toDay(expiresAt)} hint={t("expires_hint")} />
      )}
    </>
  );
};

interface GivenKey {
  name: string;
  /** Millionths; null is no limit. */
  quota: number | null;
  budget: Budget | null;
  scope: KeyScope;
  /** Milliseconds; null is never. */
  expiresAt: number | null;
}

/** The values of the fields, or the error. A key's existing day of expiry may be in the past. */
export function readKey(c: ConsoleContext, field: (name: string) => string, expiresAt: number | null = null): GivenKey | string {
  const { t } = c.var;
  const name = field("name");
  if (name === "" || name.length > 200) return t("bad_name");
  const quota = parseQuota(field("quota"));
  if (quota === undefined) return t("bad_quota");
  const budget = readBudget(c, field);
  if (typeof budget === "string") return budget;
  const scope = readScope(c, field);
  if (typeof scope === "string") return scope;
  const day = field("expires");
  if (day === toDay(expiresAt)) return { name, quota, budget, scope, expiresAt };
  const chosen = day === "" ? null : endOfDay(day);
  return chosen === null || chosen > Date.now() ? { name, quota, budget, scope, expiresAt: chosen } : t("bad_expiry");
}

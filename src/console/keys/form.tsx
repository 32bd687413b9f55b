/** The form of an API key, for creating and changing one: its fields and their values. */

import type { ConsoleContext } from "../context.ts";
import type { Budget } from "../../db/grants.ts";
import type { KeyScope } from "../../db/callers.ts";
import { parseQuota } from "../amounts.ts";
import { type FieldProblem, FieldProblems, Problem, TextField } from "../parts/index.ts";
import { balanceUnit } from "../settings.ts";
import { BudgetFields, readBudget } from "./budget.tsx";
import { readScope, ScopeFields } from "./scope.tsx";
import { dayMs, parseDate, toDate } from "../../base/times.ts";

const toDay = (ms: number | null) => (ms === null ? "" : toDate(ms));

/** A key expires at the end of the chosen day, UTC. NaN if the text is not a day. */
const endOfDay = (day: string) => parseDate(day) + dayMs - 1000;

interface FieldsOfKey {
  c: ConsoleContext;
  name?: string;
  /** The typed text. */
  quota?: string;
  budget?: Budget | null;
  scope?: KeyScope;
  /** undefined: the key was replaced, and its overlap ends when its owner chose. */
  expiresAt?: number | null | undefined;
  /** What a refused form contained. */
  typed?: ((name: string) => string) | undefined;
  /** The error of one of the fields. */
  problem?: FieldProblem | undefined;
}

export const KeyFields = ({ c, name, quota, budget = null, scope = {}, expiresAt, typed, problem }: FieldsOfKey) => {
  const { t } = c.var;
  const unit = balanceUnit(c.env);
  const findError = (field: string) => (problem?.field === field ? problem.text : undefined);
  return (
    <>
      <TextField name="name" label={t("name")} maxlength={200} value={typed?.("name") ?? name} error={findError("name")} required />
      <TextField
        name="quota"
        label={t("quota")}
        opt={unit}
        inputmode="decimal"
        value={typed?.("quota") ?? quota}
        hint={t("quota_hint")}
        error={findError("quota")}
      />
      <BudgetFields c={c} budget={budget} typed={typed} error={findError("budget")} />
      <ScopeFields c={c} scope={scope} typed={typed} error={findError("open")} />
      {expiresAt !== undefined && (
        <TextField
          name="expires"
          type="date"
          label={t("expires")}
          value={typed?.("expires") ?? toDay(expiresAt)}
          hint={t("expires_hint")}
          error={findError("expires")}
        />
      )}
    </>
  );
};

/** The error above the form: of a field, with a link to it, or of the whole. */
export const KeyProblem = ({ problem }: { problem: FieldProblem | string | undefined }) =>
  typeof problem === "object" ? <FieldProblems problems={[problem]} /> : <Problem text={problem} />;

interface GivenKey {
  name: string;
  /** Millionths; null is no limit. */
  quota: number | null;
  budget: Budget | null;
  scope: KeyScope;
  /** Milliseconds; null is never. */
  expiresAt: number | null;
}

/** The values of the fields, or the first error. A key's existing day of expiry may be in the past. */
export function readKey(
  c: ConsoleContext,
  field: (name: string) => string,
  expiresAt: number | null = null,
): { given: GivenKey } | { problem: FieldProblem } {
  const { t } = c.var;
  const name = field("name");
  if (name === "" || name.length > 200) return wrong("name", t("bad_name"));
  const quota = parseQuota(field("quota"));
  if (quota === undefined) return wrong("quota", t("bad_quota"));
  const budget = readBudget(c, field);
  if (typeof budget === "string") return wrong("budget", budget);
  const scope = readScope(c, field);
  if (typeof scope === "string") return wrong("open", scope);
  const day = field("expires");
  if (day === toDay(expiresAt)) return { given: { name, quota, budget, scope, expiresAt } };
  const chosen = day === "" ? null : endOfDay(day);
  if (chosen === null || chosen > Date.now()) return { given: { name, quota, budget, scope, expiresAt: chosen } };
  return wrong("expires", t("bad_expiry")); // also for a text that is no day
}

const wrong = (field: string, text: string) => ({ problem: { field, text } });

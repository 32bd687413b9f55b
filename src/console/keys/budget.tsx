/** Budgets of keys and accounts on pages: the form fields, and the remaining amount. */

import type { ConsoleContext } from "../context.ts";
import type { Actor } from "../../db/audit-log.ts";
import type { Budget } from "../../db/grants.ts";
import type { WalletView } from "../../wallet/limits.ts";
import { actor } from "../frame.tsx";
import { formatAmount, decimal, parseQuota } from "../amounts.ts";
import { SelectField, TextField } from "../parts/field.tsx";
import { balanceUnit } from "../settings.ts";

const windows = ["day", "month"] as const;

/** What a refused form contained. */
type Typed = ((name: string) => string) | undefined;

interface FieldsOfBudget {
  c: ConsoleContext;
  budget?: Budget | null;
  typed?: Typed;
  error?: string | undefined;
}

/** The amount and the window of a budget. */
export const BudgetFields = ({ c, budget, typed, error }: FieldsOfBudget) => {
  const { t } = c.var;
  return (
    <div class="cols two">
      <TextField
        name="budget"
        label={t("budget")}
        opt={balanceUnit(c.env)}
        inputmode="decimal"
        value={typed?.("budget") ?? (budget ? decimal(budget.amount) : "")}
        hint={t("budget_hint")}
        error={error}
      />
      <SelectField
        name="window"
        label={t("budget_window")}
        options={windows.map((window) => ({ value: window, text: t(`budget_${window}`) }))}
        value={typed?.("window") || (budget?.window ?? "month")}
      />
    </div>
  );
};

/** The budget that the fields contain, null for none, or the error. */
export function readBudget(c: ConsoleContext, field: (name: string) => string): Budget | null | string {
  const amount = parseQuota(field("budget"));
  if (amount === null) return null;
  const window = windows.find((name) => name === field("window"));
  return amount === undefined || window === undefined ? c.var.t("bad_budget") : { amount, window };
}

/** `$0.07 of $0.10 left today` */
export const budgetLeft = (c: ConsoleContext, { amount, window, spent }: NonNullable<WalletView["budget"]>) =>
  c.var.t(`budget_left_${window}`, { left: formatAmount(c, Math.max(0, amount - spent)), amount: formatAmount(c, amount) });

/** Sets the budget of an account or of one of its keys (`id`, its wallet), unless it is the same. */
export async function changeBudget(
  c: ConsoleContext,
  accountId: string,
  id: string,
  budget: Budget | null,
  by: Actor = actor(c),
): Promise<void> {
  const { [id]: wallet } = await c.env.API.balances(accountId, id === accountId ? [] : [id]);
  const before = wallet?.budget ?? null;
  if (before?.amount !== budget?.amount || before?.window !== budget?.window) await c.env.API.changeBudget(accountId, id, budget, by);
}

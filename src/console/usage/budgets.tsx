/** The limits of the account and its keys: how much of each is used, and what happens then. */

import type { ConsoleContext } from "../context.ts";
import { mayOpen } from "../access.ts";
import { readAccountKeys } from "../keys/account-keys.ts";
import { DataTable, dateText, Filled, LimitBar, Link, Money, SectionHead, TwoLines, useAround } from "../parts/index.ts";
import type { WalletView } from "../../wallet/limits.ts";

interface Limit {
  name: string;
  /** Millionths. */
  amount: number;
  spent: number;
  /** `once`: it is not renewed. */
  window: "day" | "month" | "once";
  /** When it is renewed, in milliseconds. */
  until?: number;
}

const ofBudget = (name: string, { budget }: Pick<WalletView, "budget">): Limit[] =>
  budget ? [{ name, amount: budget.amount, spent: budget.spent, window: budget.window, until: budget.until }] : [];

/** The account's budget, and the budgets and quotas of the keys that the user sees. */
export async function readLimits(c: ConsoleContext): Promise<Limit[]> {
  const { t } = c.var;
  const { id } = c.var.account;
  const keys = (await readAccountKeys(c)).filter(({ isReplaced }) => !isReplaced);
  const { [id]: account, ...wallets } = await c.env.API.balances(
    id,
    keys.map(({ walletId }) => walletId),
  );
  return [
    ...(account ? ofBudget(t("account"), account) : []),
    ...keys.flatMap(({ walletId, name }): Limit[] => {
      const { [walletId]: wallet } = wallets;
      if (!wallet) return [];
      const named = t("usage_of_key", { name });
      const { quota, used, reserved } = wallet;
      return [
        ...ofBudget(named, wallet),
        ...(quota === null ? [] : [{ name: named, amount: quota, spent: used + reserved, window: "once" as const }]),
      ];
    }),
  ];
}

export const Budgets = ({ c, limits }: { c: ConsoleContext; limits: Limit[] }) => {
  const { t, language } = useAround();
  return (
    <>
      <SectionHead title={t("usage_budgets")}>
        {mayOpen(c.var.membership.role, "POST", "/console/keys") && (
          <Link class="btn sm push" href="/console/keys" icon="plus" text={t("usage_add_budget")} />
        )}
      </SectionHead>
      <DataTable
        label={t("usage_budgets")}
        none={t("usage_no_budgets")}
        rows={limits}
        columns={[
          { name: t("usage_for"), class: "wrap", cell: ({ name }) => <TwoLines of={name} /> },
          {
            name: t("usage_limit"),
            cell: ({ window, amount }) => <Filled message={`usage_limit_${window}`} by={{ amount: <Money millionths={amount} /> }} />,
          },
          {
            name: "",
            isExtra: true,
            cell: ({ name, amount, spent }) => <LimitBar limit={amount} used={spent} label={`${t("used")}: ${name}`} isCell />,
          },
          { name: t("spent"), isNumber: true, isExtra: true, cell: ({ spent }) => <Money millionths={spent} /> },
          { name: t("usage_left"), isNumber: true, cell: ({ amount, spent }) => <Money millionths={Math.max(0, amount - spent)} /> },
          {
            name: t("usage_reached"),
            isExtra: true,
            class: "wrap",
            cell: ({ until }) => (until === undefined ? t("usage_refuse") : t("usage_refuse_until", { day: dateText(language, until) })),
          },
        ]}
      />
    </>
  );
};

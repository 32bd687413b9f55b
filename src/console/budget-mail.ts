/** Sends the user of an account an e-mail about a reached budget. */

import { accountById } from "../db/accounts.ts";
import { listKeys } from "../db/api-keys.ts";
import type { BudgetAlert } from "../tasks/budget-alerts.ts";
import { fullAmount } from "./amounts.ts";
import { reachesPeople, send } from "./mail.ts";
import { findLanguage } from "./members.ts";
import { chooseLanguage, translator } from "./messages.ts";
import { balanceUnit } from "./settings.ts";

/** Sends nothing if e-mail is not configured, or if the account or key was deleted. Throws if the e-mail is not accepted. */
export async function mailBudget(env: ConsoleEnv, reached: BudgetAlert): Promise<true> {
  if (!reachesPeople(env)) return true;
  const { accountId, keyId, data } = reached;
  const account = await accountById(env.DB, accountId);
  const key = keyId === undefined ? undefined : (await listKeys(env.DB, accountId)).findLast(({ walletId }) => walletId === keyId);
  if (!account || account.disabled || (keyId !== undefined && !key)) return true;
  const language = chooseLanguage((await findLanguage(env.DB, accountId)) ?? undefined, undefined);
  const t = translator(language);
  const amount = (units: number) => fullAmount(language, balanceUnit(env), Math.round(units * 1e6));
  const values = { percent: data.percent, name: key?.name ?? "", spent: amount(data.spent), amount: amount(data.amount) };
  const until = new Date(data.ends_at * 1000).toISOString().slice(0, 16).replace("T", " ");
  await send(env, {
    to: account.email,
    subject: t("mail_budget_subject", { percent: data.percent }),
    text: `${t(key ? "mail_budget_key" : "mail_budget_account", values)}\n\n${t("mail_budget_until", { until })}\n`,
  });
  return true;
}

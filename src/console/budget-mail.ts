/** Sends the user of an account an e-mail about a reached budget. */

import { accountById } from "../db/accounts.ts";
import { listKeys } from "../db/api-keys.ts";
import type { BudgetAlert } from "../wallet/alerts.ts";
import { sendToEach } from "./letters.ts";
import { reachesPeople } from "./mail.ts";
import { findRecipients } from "./members.ts";

/** Sends nothing if e-mail is not configured, or if the account or key was deleted. Throws if the e-mail is not accepted. */
export async function mailBudget(env: ConsoleEnv, reached: BudgetAlert): Promise<true> {
  if (!reachesPeople(env)) return true;
  const { accountId, keyId, data } = reached;
  const account = await accountById(env.DB, accountId);
  if (!account || account.disabled) return true;
  const key = keyId === undefined ? undefined : (await listKeys(env.DB, accountId)).findLast(({ walletId }) => walletId === keyId);
  // A mail about a member's budget goes to the member, others go to the owners. An account without users has only its own address.
  const ofMember = keyId !== undefined && !key ? await findRecipients(env.DB, accountId, keyId) : [];
  if (keyId !== undefined && !key && ofMember.length === 0) return true;
  const owners = await findRecipients(env.DB, accountId);
  const fallback = { email: account.email, name: account.name ?? account.email, language: null };
  const recipients = ofMember.length > 0 ? ofMember : owners.length > 0 ? owners : [fallback];
  const message = ofMember.length > 0 ? "mail_budget_member" : key ? "mail_budget_key" : "mail_budget_account";
  await sendToEach(env, recipients, (t, amount) => {
    const toAmount = (units: number) => amount(Math.round(units * 1e6));
    const values = { percent: data.percent, name: key?.name ?? "", spent: toAmount(data.spent), amount: toAmount(data.amount) };
    const until = new Date(data.ends_at * 1000).toISOString().slice(0, 16).replace("T", " ");
    return {
      subject: t("mail_budget_subject", { percent: data.percent }),
      text: `${t(message, values)}\n\n${t("mail_budget_until", { until })}`,
      path: key ? "/console/keys" : "/console/usage",
    };
  });
  return true;
}

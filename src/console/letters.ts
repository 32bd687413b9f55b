/** E-mail to the people of an account, each in the language of their latest page. */

import { accountById } from "../db/accounts.ts";
import { listKeys } from "../db/api-keys.ts";
import { fromUnits } from "../db/ledger.ts";
import type { LowBalance } from "../db/low-balances.ts";
import type { TopUpPause } from "../rpc/payment-objects.ts";
import type { BudgetAlert } from "../wallet/alerts.ts";
import { fullAmount } from "./amounts.ts";
import { type Email, reachesPeople, send } from "./mail.ts";
import { findRecipients, type Recipient } from "./members.ts";
import { chooseLanguage, type Translate, translator } from "./messages.ts";
import { balanceUnit, consoleUrl } from "./settings.ts";

/** The words of an e-mail after its greeting, and the page that its button opens. */
interface Words {
  subject: string;
  text: string;
  path: string;
}

/** Writes an e-mail with the messages of one language; `amount` writes millionths in it. */
type Write = (t: Translate, amount: (millionths: number) => string) => Words;

/** The e-mail for a person. Its last paragraph is the link alone, which is shown as a button; without `base` there is no link. */
export function toLetter(env: ConsoleEnv, base: string | undefined, { email, name, language: latest }: Recipient, write: Write): Email {
  const language = chooseLanguage(latest ?? undefined, undefined);
  const t = translator(language);
  const { subject, text, path } = write(t, (millionths) => fullAmount(language, balanceUnit(env), millionths));
  return {
    to: email,
    subject,
    language,
    text: `${t("mail_greeting", { name: name || email })}\n\n${text}\n${base === undefined ? "" : `\n${base}${path}\n`}`,
    action: t("mail_open"),
  };
}

/** Sends an e-mail that no request causes to each person. Throws if one is not accepted. */
async function sendToEach(env: ConsoleEnv, recipients: Recipient[], write: Write): Promise<void> {
  for (const recipient of recipients) await send(env, toLetter(env, consoleUrl(env), recipient, write));
}

/** Sends it to the owners of an account; `name` is the account's. Sends nothing if e-mail is not configured, or if the account was deleted. */
async function mailOwners(env: ConsoleEnv, accountId: string, write: (name: string) => Write): Promise<true> {
  if (!reachesPeople(env)) return true;
  const account = await accountById(env.DB, accountId);
  if (!account || account.disabled) return true;
  await sendToEach(env, await findRecipients(env.DB, accountId), write(account.name || account.email));
  return true;
}

/** Tells the owners of an account that its balance has fallen below their threshold. Throws if the e-mail is not accepted. */
export const mailLowBalance = (env: ConsoleEnv, { accountId, left, threshold }: LowBalance): Promise<true> =>
  mailOwners(env, accountId, (account) => (t, amount) => {
    const values = { account, left: amount(left), threshold: amount(threshold) };
    return { subject: t("mail_low_subject", values), text: t("mail_low", values), path: "/console/billing" };
  });

/** Tells the owners of an account that automatic top-up is paused. Throws if the e-mail is not accepted. */
export const mailTopUp = (env: ConsoleEnv, { accountId, amount: money, reason }: TopUpPause): Promise<true> =>
  mailOwners(env, accountId, () => (t, amount) => ({
    subject: t("mail_top_up_subject"),
    text: t(reason === "disputed" ? "mail_top_up_disputed" : "mail_top_up_declined", { amount: amount(money) }),
    path: "/console/billing",
  }));

/**
 * Tells of a reached budget: a member's to the member, others to the owners. Sends nothing if e-mail is not configured, or if the account or
 * key was deleted. Throws if the e-mail is not accepted.
 */
export async function mailBudget(env: ConsoleEnv, reached: BudgetAlert): Promise<true> {
  if (!reachesPeople(env)) return true;
  const { accountId, keyId, data } = reached;
  const account = await accountById(env.DB, accountId);
  if (!account || account.disabled) return true;
  const key = keyId === undefined ? undefined : (await listKeys(env.DB, accountId)).findLast(({ walletId }) => walletId === keyId);
  // An account without users has only its own address.
  const ofMember = keyId !== undefined && !key ? await findRecipients(env.DB, accountId, keyId) : [];
  if (keyId !== undefined && !key && ofMember.length === 0) return true;
  const owners = await findRecipients(env.DB, accountId);
  const fallback = { email: account.email, name: account.name ?? account.email, language: null };
  const recipients = ofMember.length > 0 ? ofMember : owners.length > 0 ? owners : [fallback];
  const message = ofMember.length > 0 ? "mail_budget_member" : key ? "mail_budget_key" : "mail_budget_account";
  await sendToEach(env, recipients, (t, amount) => {
    const toAmount = (units: number) => amount(fromUnits(units));
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

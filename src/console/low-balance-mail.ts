/** Tells the owners of an account by e-mail that its balance has fallen below their threshold. */

import { accountById } from "../db/accounts.ts";
import type { LowBalance } from "../db/low-balances.ts";
import { fullAmount } from "./amounts.ts";
import { linkTo, reachesPeople, send } from "./mail.ts";
import { findRecipients } from "./members.ts";
import { chooseLanguage, translator } from "./messages.ts";
import { balanceUnit } from "./settings.ts";

/** Sends nothing if e-mail is not configured, or if the account was deleted. Throws if the e-mail is not accepted. */
export async function mailLowBalance(env: ConsoleEnv, { accountId, left, threshold }: LowBalance): Promise<true> {
  if (!reachesPeople(env)) return true;
  const account = await accountById(env.DB, accountId);
  if (!account || account.disabled) return true;
  for (const { email, name, language: latest } of await findRecipients(env.DB, accountId)) {
    const language = chooseLanguage(latest ?? undefined, undefined);
    const t = translator(language);
    const amount = (millionths: number) => fullAmount(language, balanceUnit(env), millionths);
    const values = { account: account.name || account.email, left: amount(left), threshold: amount(threshold) };
    await send(env, {
      to: email,
      subject: t("mail_low_subject", values),
      language,
      text: `${t("mail_greeting", { name: name || email })}\n\n${t("mail_low", values)}\n${linkTo(env, "/console/billing")}`,
      action: t("mail_open"),
    });
  }
  return true;
}

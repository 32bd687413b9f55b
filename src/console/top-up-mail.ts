/** Tells the owners of an account by e-mail that automatic top-up is paused. */

import { accountById } from "../db/accounts.ts";
import type { TopUpPause } from "../rpc/payment-objects.ts";
import { fullAmount } from "./amounts.ts";
import { linkTo, reachesPeople, send } from "./mail.ts";
import { findRecipients } from "./members.ts";
import { chooseLanguage, translator } from "./messages.ts";
import { balanceUnit } from "./settings.ts";

/** Sends nothing if e-mail is not configured, or if the account was deleted. Throws if the e-mail is not accepted. */
export async function mailTopUp(env: ConsoleEnv, { accountId, amount, reason }: TopUpPause): Promise<true> {
  if (!reachesPeople(env)) return true;
  const account = await accountById(env.DB, accountId);
  if (!account || account.disabled) return true;
  for (const { email, name, language: latest } of await findRecipients(env.DB, accountId)) {
    const language = chooseLanguage(latest ?? undefined, undefined);
    const t = translator(language);
    const values = { amount: fullAmount(language, balanceUnit(env), amount) };
    await send(env, {
      to: email,
      subject: t("mail_top_up_subject"),
      language,
      text: `${t("mail_greeting", { name: name || email })}\n\n${t(reason === "disputed" ? "mail_top_up_disputed" : "mail_top_up_declined", values)}\n${linkTo(env, "/console/billing")}`,
      action: t("mail_open"),
    });
  }
  return true;
}

/** E-mail that no request causes, to the people of an account in their own languages. */

import { accountById } from "../db/accounts.ts";
import { fullAmount } from "./amounts.ts";
import { linkTo, reachesPeople, send } from "./mail.ts";
import { findRecipients, type Recipient } from "./members.ts";
import { chooseLanguage, translator } from "./messages.ts";
import { balanceUnit } from "./settings.ts";

/** The words of an e-mail after its greeting, and the page that its button opens. */
interface Words {
  subject: string;
  text: string;
  path: string;
}

/** Writes an e-mail with the messages of one language; `amount` writes millionths in it. */
type Write = (t: ReturnType<typeof translator>, amount: (millionths: number) => string) => Words;

/** Sends each person the e-mail in the language of their latest page. Throws if one is not accepted. */
export async function sendToEach(env: ConsoleEnv, recipients: Recipient[], write: Write): Promise<void> {
  for (const { email, name, language: latest } of recipients) {
    const language = chooseLanguage(latest ?? undefined, undefined);
    const t = translator(language);
    const { subject, text, path } = write(t, (millionths) => fullAmount(language, balanceUnit(env), millionths));
    await send(env, {
      to: email,
      subject,
      language,
      text: `${t("mail_greeting", { name: name || email })}\n\n${text}\n${linkTo(env, path)}`,
      action: t("mail_open"),
    });
  }
}

/** Sends it to the owners of an account; `name` is the account's. Sends nothing if e-mail is not configured, or if the account was deleted. */
export async function mailOwners(env: ConsoleEnv, accountId: string, write: (name: string) => Write): Promise<true> {
  if (!reachesPeople(env)) return true;
  const account = await accountById(env.DB, accountId);
  if (!account || account.disabled) return true;
  await sendToEach(env, await findRecipients(env.DB, accountId), write(account.name || account.email));
  return true;
}

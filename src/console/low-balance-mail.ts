/** Tells the owners of an account by e-mail that its balance has fallen below their threshold. */

import type { LowBalance } from "../db/low-balances.ts";
import { mailOwners } from "./letters.ts";

/** Throws if the e-mail is not accepted. */
export const mailLowBalance = (env: ConsoleEnv, { accountId, left, threshold }: LowBalance): Promise<true> =>
  mailOwners(env, accountId, (account) => (t, amount) => {
    const values = { account, left: amount(left), threshold: amount(threshold) };
    return { subject: t("mail_low_subject", values), text: t("mail_low", values), path: "/console/billing" };
  });

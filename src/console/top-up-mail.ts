/** Tells the owners of an account by e-mail that automatic top-up is paused. */

import type { TopUpPause } from "../rpc/payment-objects.ts";
import { mailOwners } from "./letters.ts";

/** Throws if the e-mail is not accepted. */
export const mailTopUp = (env: ConsoleEnv, { accountId, amount: money, reason }: TopUpPause): Promise<true> =>
  mailOwners(env, accountId, () => (t, amount) => ({
    subject: t("mail_top_up_subject"),
    text: t(reason === "disputed" ? "mail_top_up_disputed" : "mail_top_up_declined", { amount: amount(money) }),
    path: "/console/billing",
  }));

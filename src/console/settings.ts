/** The console's variables. A wrong value throws `VariableError`: the page that needs it answers 500. */

import { readAmount, readBaseUrl, readWord, VariableError } from "../base/variables.ts";

/** Which users may sign up: all, invited ones, or none. */
export const signup = (env: Pick<ConsoleEnv, "SIGNUP">) => readWord("SIGNUP", env.SIGNUP, ["open", "invite", "closed"]);

/** The quota of a new account in millionths. */
export const signupQuota = (env: ConsoleEnv) => readAmount("SIGNUP_QUOTA", env.SIGNUP_QUOTA);

/** What sending e-mail needs, in each Worker that sends it. */
export type MailBindings = Pick<ConsoleEnv, "MAIL" | "MAIL_FROM">;

/** The binding that sends e-mail, and its sender; undefined if e-mail cannot be sent. */
export function mailSender({ MAIL, MAIL_FROM }: MailBindings): { binding: SendEmail; from: string } | undefined {
  if (!MAIL) return undefined;
  if (!MAIL_FROM || !/^[^\s@]+@[^\s@]+$/.test(MAIL_FROM))
    throw new VariableError("MAIL_FROM", "must be an e-mail address, for MAIL is bound");
  return { binding: MAIL, from: MAIL_FROM };
}

/** The unit beside every amount. */
export const balanceUnit = (env: ConsoleEnv) => readWord("BALANCE_UNIT", env.BALANCE_UNIT, ["USD", "CNY", "TOKENS"]);

/** The address of the console in e-mails that no request causes, without a final slash; undefined leaves their button out. */
export const consoleUrl = (env: ConsoleEnv) => readBaseUrl("CONSOLE_URL", env.CONSOLE_URL);

/** The base URL of assets; undefined for the gateway's own host. */
export const assetBaseUrl = (env: ConsoleEnv) => readBaseUrl("ASSET_BASE_URL", env.ASSET_BASE_URL);

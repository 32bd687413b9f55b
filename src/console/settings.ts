/** What the operator configured for the console. A wrong value throws `VariableError`: the page that needs it answers 500. */

import { readAmount, readBaseUrl, readWord, VariableError } from "../variables.ts";

/** Who may sign up: anyone, invited people, or nobody. */
export const signup = (env: ConsoleEnv) => readWord("SIGNUP", env.SIGNUP, ["open", "invite", "closed"]);

/** Millionths that a new account may spend. */
export const signupQuota = (env: ConsoleEnv) => readAmount("SIGNUP_QUOTA", env.SIGNUP_QUOTA);

/** The sender of e-mail; undefined where none can be sent. */
export function mailSender({ MAIL, MAIL_FROM }: ConsoleEnv): string | undefined {
  if (!MAIL) return undefined;
  if (!MAIL_FROM || !/^[^\s@]+@[^\s@]+$/.test(MAIL_FROM))
    throw new VariableError("MAIL_FROM", "must be an e-mail address, for MAIL is bound");
  return MAIL_FROM;
}

/** The word beside every amount. */
export const balanceUnit = (env: ConsoleEnv) => readWord("BALANCE_UNIT", env.BALANCE_UNIT, ["USD", "CNY", "TOKENS"]);

/** Where asset URLs point; undefined for the gateway's own host. */
export const assetBaseUrl = (env: ConsoleEnv) => readBaseUrl("ASSET_BASE_URL", env.ASSET_BASE_URL);

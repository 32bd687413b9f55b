/** Facts about signing in that the console's pages share with the auth Worker. */

import { isSignOnOnly } from "../settings.ts";

export const authPath = "/console/auth";

/** Linked logins, with the names that pages show. */
export const loginNames = { github: "GitHub", google: "Google" } as const;
export type Login = keyof typeof loginNames;

type LoginVariables = Pick<ConsoleEnv, "GITHUB_CLIENT_ID" | "GITHUB_CLIENT_SECRET" | "GOOGLE_CLIENT_ID" | "GOOGLE_CLIENT_SECRET">;

/** The id and the secret of a login; either may be missing. */
export const loginSecrets = (env: LoginVariables, login: Login) =>
  login === "github" ? [env.GITHUB_CLIENT_ID, env.GITHUB_CLIENT_SECRET] : [env.GOOGLE_CLIENT_ID, env.GOOGLE_CLIENT_SECRET];

/** The logins that the operator has configured. */
export const configuredLogins = (env: LoginVariables & Parameters<typeof isSignOnOnly>[0]): Login[] =>
  isSignOnOnly(env) ? [] : (Object.keys(loginNames) as Login[]).filter((login) => loginSecrets(env, login).every(Boolean));

/** The code of a sign-in with the right password, but with an address whose link was not opened yet. No page may tell it from a wrong password. */
export const unconfirmed = "address_not_confirmed";

/** Adding or removing a way to sign in needs a session younger than this, in seconds. */
export const freshSeconds = 3600;

/** At least ten characters; further rules would weaken passwords (NIST SP 800-63B). */
export const minPasswordLength = 10;
export const maxPasswordLength = 200;

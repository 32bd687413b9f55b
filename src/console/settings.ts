/** The console's variables. A wrong value throws `VariableError`: the page that needs it answers 500. */

import { type Role, roles } from "../base/roles.ts";
import { readAmount, readBaseUrl, readTable, readWord, VariableError } from "../base/variables.ts";

/** Which users may sign up: all, invited ones, or none. */
export const signup = (env: Pick<ConsoleEnv, "SIGNUP">) => readWord("SIGNUP", env.SIGNUP, ["open", "invite", "closed"]);

type SignOnVariables = Pick<
  ConsoleEnv,
  "OIDC_ISSUER" | "OIDC_CLIENT_ID" | "OIDC_CLIENT_SECRET" | "OIDC_SCOPES" | "OIDC_GROUPS" | "SIGN_IN"
>;

/** The OpenID provider of this deployment; undefined without one. */
export interface SignOn {
  /** As the provider's ID tokens name it. */
  issuer: string;
  clientId: string;
  clientSecret: string;
  scopes: string[];
}

export function singleSignOn(env: SignOnVariables): SignOn | undefined {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret } = env;
  if (!issuer) return undefined;
  const url = URL.parse(issuer);
  const isLocal = url?.protocol === "http:" && url.hostname === "127.0.0.1";
  if (!url || (url.protocol !== "https:" && !isLocal) || url.username || /[?#\s]/.test(issuer))
    throw new VariableError("OIDC_ISSUER", "must be an https address");
  if (!clientId) throw new VariableError("OIDC_CLIENT_ID", "is missing beside OIDC_ISSUER");
  if (!clientSecret) throw new VariableError("OIDC_CLIENT_SECRET", "is missing beside OIDC_ISSUER");
  return { issuer, clientId, clientSecret, scopes: (env.OIDC_SCOPES || "openid profile email").split(/\s+/) };
}

/** True if users sign in with the OpenID provider alone: no password, passkey or other login is accepted. */
export function isSignOnOnly(env: SignOnVariables): boolean {
  const isOnly = readWord("SIGN_IN", env.SIGN_IN, ["all", "oidc"], "all") === "oidc";
  if (isOnly && !singleSignOn(env)) throw new VariableError("SIGN_IN", "needs OIDC_ISSUER for oidc");
  return isOnly;
}

/** What a group of the OpenID provider gives: a role in an account. */
interface GroupRole {
  group: string;
  account: string;
  role: Role;
}

/** The lines of OIDC_GROUPS. */
export function groupTable(env: SignOnVariables): GroupRole[] {
  const table = readTable("OIDC_GROUPS", env.OIDC_GROUPS) ?? {};
  const isTable = (value: unknown): value is Record<string, unknown> =>
    typeof value === "object" && value !== null && !Array.isArray(value);
  if (!isTable(table)) throw new VariableError("OIDC_GROUPS", "must be a table, or JSON");
  return Object.entries(table).map(([group, given]) => {
    const { account, role: word } = isTable(given) ? given : {};
    const role = roles.find((one) => one === word);
    if (typeof account !== "string" || !/^acc_\w{1,60}$/.test(account) || !role)
      throw new VariableError("OIDC_GROUPS", `must give "${group}" an account and a role, one of ${roles.join(", ")}`);
    return { group, account, role };
  });
}

/** For each account that OIDC_GROUPS names: the highest role that these groups give in it, or undefined for none. */
export function groupRoles(env: SignOnVariables, groups: readonly string[]): Map<string, Role | undefined> {
  const found = new Map<string, Role | undefined>();
  for (const { group, account, role } of groupTable(env)) {
    const known = found.get(account);
    const isHigher = known === undefined || roles.indexOf(role) < roles.indexOf(known);
    found.set(account, groups.includes(group) && isHigher ? role : known);
  }
  return found;
}

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

/** The address of the repository that the documentation's files are in, without a final slash; undefined leaves out the links to it. */
export const repositoryUrl = (env: Pick<ConsoleEnv, "REPOSITORY_URL">) => readBaseUrl("REPOSITORY_URL", env.REPOSITORY_URL);

/** The address of the console in e-mails that no request causes, without a final slash; undefined leaves their button out. */
export const consoleUrl = (env: ConsoleEnv) => readBaseUrl("CONSOLE_URL", env.CONSOLE_URL);

/** The base URL of assets; undefined for the gateway's own host. */
export const assetBaseUrl = (env: ConsoleEnv) => readBaseUrl("ASSET_BASE_URL", env.ASSET_BASE_URL);

/** The calls by which the console uses the auth Worker. */

import type { Language } from "../../messages/language.ts";
import type { Person } from "../members.ts";

/** The variables that decide how users sign in. */
export const authVariables = [
  "AUTH_SECRET",
  "SIGNUP",
  "GITHUB_CLIENT_ID",
  "GITHUB_CLIENT_SECRET",
  "GOOGLE_CLIENT_ID",
  "GOOGLE_CLIENT_SECRET",
  "OIDC_ISSUER",
  "OIDC_CLIENT_ID",
  "OIDC_CLIENT_SECRET",
  "OIDC_SCOPES",
  "OIDC_GROUPS",
  "SIGN_IN",
] as const satisfies readonly (keyof ConsoleEnv)[];

/** Goes with each call. The secrets belong to the console alone, so that no secret has to be the same in two Workers. */
export interface AuthSettings extends Pick<ConsoleEnv, (typeof authVariables)[number]> {
  /** The origin of the page. */
  origin: string;
  /** The language of e-mail. */
  language: Language;
}

/** The signed-in user and the session, without its token. */
export interface SignedIn {
  user: Person;
  session: { id: string; createdAt: Date };
  /** `Set-Cookie` lines for the browser, if the session was prolonged. */
  cookies?: string[];
}

/** A way to sign in: `credential` is the password, others are linked logins. */
interface LoginMethod {
  id: string;
  providerId: string;
  hasPassword: boolean;
}

/** A session of a user. Its token is secret: no page shows it. */
interface Session {
  id: string;
  token: string;
  userAgent: string | null;
  createdAt: Date;
  updatedAt: Date;
}

interface Passkey {
  id: string;
  name: string | undefined;
  createdAt: Date;
}

export interface AuthWorker {
  /** Calls one of better-auth's own endpoints. A success with a password or passkey does not count as an attempt. */
  handle(settings: AuthSettings, request: Request): Promise<Response>;
  /** The return from the OpenID provider: better-auth's answer, and after a success the user with the groups of the ID token. */
  handleSignOn(settings: AuthSettings, request: Request): Promise<{ answer: Response; signedIn?: { userId: string; groups: string[] } }>;
  /** The session of a `Cookie` header, or null. */
  findSession(settings: AuthSettings, cookie: string): Promise<SignedIn | null>;
  listLogins(settings: AuthSettings, userId: string): Promise<LoginMethod[]>;
  /** The active sessions of a user. */
  listSessions(settings: AuthSettings, userId: string): Promise<Session[]>;
  /** The passkeys of the user whose `Cookie` header this is. Throws without a session. */
  listPasskeys(settings: AuthSettings, cookie: string): Promise<Passkey[]>;
  /** Sets the first password of the user whose `Cookie` header this is. Throws without a session, or if there is a password. */
  setPassword(settings: AuthSettings, cookie: string, newPassword: string): Promise<void>;
}

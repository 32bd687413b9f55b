/** Answers the console's calls with better-auth. */

import { Attempts } from "./attempts.ts";
import { buildAuth } from "./better-auth.ts";
import type { AuthSettings, AuthWorker } from "./contract.ts";
import { authPath } from "./logins.ts";
import { buildMail, type Notice } from "./mail.ts";
import { isSignOnOnly } from "../settings.ts";
import { type FailedSignIn, logFailure } from "../members.ts";
import { type Learned, usesProvider } from "./oidc.ts";

/** A success here does not count against the limit of attempts. */
const forgiven = new Set(["/sign-in/email", "/passkey/verify-authentication"]);

/** The calls after whose success the user gets an e-mail, and about what. After a reset better-auth's own hook sends it. */
const changing: Record<string, Notice | undefined> = {
  "/change-password": "password",
  "/passkey/verify-registration": "passkey",
  "/verify-email": "address",
};

interface SignInBody {
  email?: string;
  response?: { id?: string };
}

/**
 * The sign-in that an answer refuses, with what names its user; undefined for other answers, for too many attempts, and where nothing names a
 * user: an unknown state, or a login's provider that refused.
 */
async function findRefused(path: string, sent: Request, answer: Response, { said }: Learned): Promise<FailedSignIn | undefined> {
  if (path.startsWith("/callback/")) {
    const to = URL.parse(answer.headers.get("location") ?? "", "https://console.invalid");
    // Linking a login to a user who is signed in returns to another page.
    return to?.pathname === "/console/sign-in" && to.searchParams.has("error") ? said : undefined;
  }
  if (!forgiven.has(path) || answer.ok || answer.status === 429 || answer.status >= 500) return undefined;
  const { email, response } = (await sent.json<SignInBody | null>()) ?? {};
  return path === "/sign-in/email" ? { login: "password", email } : { login: "passkey", id: response?.id };
}

/** True for endpoints that sign in, or make a way to sign in, without the OpenID provider. */
const isOwnSignIn = (path: string): boolean =>
  /^\/(sign-in\/(?!social$)|sign-up\/|passkey\/|link-social|callback\/(?!oidc$)|change-password|change-email|request-password-reset|reset-password)/.test(
    path,
  );

/** The calls with the bindings of a Worker. Work given to `waitUntil` may continue after the answer. */
export function answerCalls(env: AuthEnv, waitUntil: (work: Promise<unknown>) => void): AuthWorker {
  const start = (settings: AuthSettings, attempts = new Attempts(env.DB), learned: Learned = {}, isSignOn = false) =>
    buildAuth(env, settings, { waitUntil, attempts, learned, isSignOn });
  const logRefused = (path: string, sent: Request, answer: Response, learned: Learned) =>
    // Not awaited: the time of the answer would reveal that a user is known.
    waitUntil(
      findRefused(path, sent, answer, learned).then((refused) =>
        refused ? logFailure(env.DB, refused, sent.headers.get("cf-connecting-ip")) : undefined,
      ),
    );
  const signedIn = (cookie: string) => ({ headers: new Headers({ cookie }) });
  const findUser = async (settings: AuthSettings, cookie: string) => (await start(settings).api.getSession(signedIn(cookie)))?.user;
  /** Tells the user, at the address as it was before. Not awaited, like every e-mail. */
  const notify = (settings: AuthSettings, kind: Notice, before: Awaited<ReturnType<typeof findUser>>) => {
    const mail = before && buildMail(env, settings);
    if (mail) waitUntil(mail.sendNotice(kind, before));
  };
  return {
    handle: async (settings, request) => {
      const attempts = new Attempts(env.DB);
      const path = new URL(request.url).pathname.slice(authPath.length);
      if (isSignOnOnly(settings) && isOwnSignIn(path)) return Response.json({ code: "sign_on_only" }, { status: 403 });
      const [sent, learned]: [Request, Learned] = [request.clone(), {}];
      const changes = changing[path];
      const before = changes && (await findUser(settings, request.headers.get("cookie") ?? ""));
      const answer = await start(settings, attempts, learned, usesProvider(path)).handler(request);
      // The link that confirms a new address is also that of a first one, for which the answer has no user.
      const hasChanged = async () => changes !== "address" || Boolean((await answer.clone().json<{ user: unknown }>()).user);
      if (changes && answer.ok && (await hasChanged())) notify(settings, changes, before);
      if (answer.ok && forgiven.has(path)) await attempts.forgive();
      logRefused(path, sent, answer, learned);
      return answer;
    },
    handleSignOn: async (settings, request) => {
      const learned: Learned = {};
      const answer = await start(settings, undefined, learned, true).handler(request);
      logRefused("/callback/oidc", request, answer, learned);
      const { userId, groups } = learned;
      return { answer, ...(userId !== undefined && groups && { signedIn: { userId, groups } }) };
    },
    findSession: async (settings, cookie) => {
      const { headers, response } = await start(settings).api.getSession({ ...signedIn(cookie), returnHeaders: true });
      if (!response) return null;
      const { user, session } = response;
      return {
        user: { id: user.id, email: user.email, emailVerified: user.emailVerified, name: user.name },
        session: { id: session.id, createdAt: session.createdAt },
        cookies: headers.getSetCookie(),
      };
    },
    listLogins: async (settings, userId) => {
      const { internalAdapter } = await start(settings).$context;
      const accounts = await internalAdapter.findAccounts(userId);
      return accounts.map(({ id, providerId, password }) => ({ id, providerId, hasPassword: Boolean(password) }));
    },
    listSessions: async (settings, userId) => {
      const { internalAdapter } = await start(settings).$context;
      const sessions = await internalAdapter.listSessions(userId, { onlyActiveSessions: true });
      return sessions.map(({ id, token, userAgent, createdAt, updatedAt }) => ({
        id,
        token,
        userAgent: userAgent ?? null,
        createdAt,
        updatedAt,
      }));
    },
    listPasskeys: async (settings, cookie) => {
      const passkeys = await start(settings).api.listPasskeys(signedIn(cookie));
      return passkeys.map(({ id, name, createdAt }) => ({ id, name, createdAt: new Date(createdAt) }));
    },
    setPassword: async (settings, cookie, newPassword) => {
      if (isSignOnOnly(settings)) throw new Error("single sign-on alone is allowed");
      await start(settings).api.setPassword({ ...signedIn(cookie), body: { newPassword } });
      notify(settings, "password", await findUser(settings, cookie));
    },
  };
}

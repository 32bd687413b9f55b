/** Answers the console's calls with better-auth. */

import { Attempts } from "./attempts.ts";
import { buildAuth } from "./better-auth.ts";
import type { AuthSettings, AuthWorker } from "./contract.ts";
import { authPath } from "./logins.ts";

/** A success here does not count against the limit of attempts. */
const forgiven = new Set(["/sign-in/email", "/passkey/verify-authentication"].map((path) => authPath + path));

/** The calls with the bindings of a Worker. Work given to `waitUntil` may continue after the answer. */
export function answerCalls(env: AuthEnv, waitUntil: (work: Promise<unknown>) => void): AuthWorker {
  const start = (settings: AuthSettings, attempts = new Attempts(env.DB)) => buildAuth(env, settings, { waitUntil, attempts });
  const signedIn = (cookie: string) => ({ headers: new Headers({ cookie }) });
  return {
    handle: async (settings, request) => {
      const attempts = new Attempts(env.DB);
      const answer = await start(settings, attempts).handler(request);
      if (answer.ok && forgiven.has(new URL(request.url).pathname)) await attempts.forgive();
      return answer;
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
      await start(settings).api.setPassword({ ...signedIn(cookie), body: { newPassword } });
    },
  };
}

/** Sign-in by better-auth: passwords, linked logins, passkeys, session cookies, rate-limited attempts. */

import { passkey } from "@better-auth/passkey";
import { betterAuth } from "better-auth";
import { APIError, createAuthMiddleware } from "better-auth/api";
import { reachesPeople } from "../mail.ts";
import { isInvited, isUnconfirmed, proveAddress } from "../members.ts";
import { groupRoles, signup } from "../settings.ts";
import type { Attempts } from "./attempts.ts";
import type { AuthSettings } from "./contract.ts";
import { authPath, configuredLogins, freshSeconds, loginSecrets, maxPasswordLength, minPasswordLength, unconfirmed } from "./logins.ts";
import { buildMail } from "./mail.ts";
import { type Learned, openProvider } from "./oidc.ts";
import { hash, verify } from "./password-hash.ts";

/** A passkey without user verification proves only possession of the device. */
function wantUser(isVerified: boolean | undefined): void {
  if (!isVerified) throw new APIError("UNAUTHORIZED", { message: "The user was not verified" });
}

/** The cookie of a browser in which a user has signed in or reset the password: the user's id and one of the browser's own, signed. It gives no access, and stays after signing out. */
const knownBrowser = "known";
const yearSeconds = 31_536_000;

/** Characters of a browser's name that are stored: a header may have 16 KB, and stays in the audit log for more than a year. */
const maxAgent = 300;

const refusal = (code: string) => new APIError("FORBIDDEN", { code, message: code });

/** The data of one call. */
interface Call {
  /** Keeps the Worker alive for work that continues after the answer. */
  waitUntil: (work: Promise<unknown>) => void;
  attempts: Attempts;
  /** Collects what the call learns about its user. */
  learned: Learned;
  /** True for a call that may use the OpenID provider. */
  isSignOn: boolean;
}

/** Creates better-auth for one host. Only our pages call its endpoints, and they decide which users may sign up with a password. */
export function buildAuth(env: AuthEnv, settings: AuthSettings, { waitUntil, attempts, learned, isSignOn }: Call) {
  const { origin, AUTH_SECRET } = settings;
  if (!AUTH_SECRET) throw new Error("the secret AUTH_SECRET is not set");
  const mail = buildMail(env, settings);
  const maySignUp = async (email: string) =>
    signup(settings) === "open" || (signup(settings) === "invite" && (await isInvited(env.DB, email)));
  return betterAuth({
    database: env.DB,
    baseURL: origin,
    basePath: authPath,
    secret: AUTH_SECRET,
    telemetry: { enabled: false },
    logger: { level: "error" },
    emailAndPassword: {
      enabled: true,
      minPasswordLength: minPasswordLength,
      maxPasswordLength: maxPasswordLength,
      password: { hash, verify },
      revokeSessionsOnPasswordReset: true,
      // Where e-mail tells who owns an address, signing up answers the same for a known one.
      autoSignIn: !reachesPeople(env),
      ...(mail && { onExistingUserSignUp: ({ user }) => mail.sendNotice("known", user) }),
      ...(mail && { sendResetPassword: ({ user, token }) => mail.sendLink("reset", user, token) }),
      onPasswordReset: async ({ user }) => {
        learned.userId = user.id;
        await proveAddress(env.DB, user.id);
        // The link has come to the address.
        if (mail) waitUntil(mail.sendNotice("password", { ...user, emailVerified: true }));
      },
    },
    emailVerification: {
      sendOnSignUp: true,
      ...(mail && { sendVerificationEmail: ({ user, token, url }) => mail.sendLink("confirm", user, token, url) }),
    },
    socialProviders: Object.fromEntries(
      configuredLogins(settings).map((login) => {
        const [clientId = "", clientSecret = ""] = loginSecrets(settings, login);
        const mapProfileToUser = ({ id, sub, email }: { id?: string; sub?: string; email?: string }) => {
          learned.said = { login, id: String(id ?? sub), email };
          return {};
        };
        return [login, { clientId, clientSecret, disableSignUp: signup(settings) === "closed", mapProfileToUser }];
      }),
    ),
    plugins: [
      ...(isSignOn ? openProvider(settings, learned) : []),
      passkey({
        rpName: new URL(origin).host,
        schema: { passkey: { modelName: "auth_passkey" } },
        authenticatorSelection: { residentKey: "required", userVerification: "required" },
        registration: { afterVerification: ({ verification }) => wantUser(verification.registrationInfo?.userVerified) },
        authentication: { afterVerification: ({ verification }) => wantUser(verification.authenticationInfo.userVerified) },
      }),
    ],
    user: { modelName: "auth_user", changeEmail: { enabled: mail !== undefined } },
    session: { modelName: "auth_session", expiresIn: 7 * 86_400, updateAge: 86_400, freshAge: freshSeconds },
    // better-auth links a login to a user only if both have verified the same address.
    account: { modelName: "auth_account", updateAccountOnSignIn: false },
    verification: {
      modelName: "auth_verification",
      // The token of a link in an e-mail is stored as SHA-256: a copy of the database resets no password.
      storeIdentifier: { default: "plain", overrides: { "reset-password:": "hashed" } },
    },
    hooks: {
      before: createAuthMiddleware(async ({ path, body, context, getSignedCookie }) => {
        const { email } = (body ?? {}) as { email?: unknown };
        if (path !== "/sign-in/email" || typeof email !== "string") return;
        // No user has a longer one, and it becomes the key of a row.
        const address = email.toLowerCase().slice(0, 254);
        const cookie = await getSignedCookie(context.createAuthCookie(knownBrowser).name, context.secret);
        const [userId = "", browser] = (cookie || "").split(".");
        const isKnown = userId !== "" && (await context.internalAdapter.findUserById(userId))?.email === address;
        if (!(await attempts.countGuess(address, isKnown ? browser : undefined))) throw new APIError("TOO_MANY_REQUESTS");
        // For each attempt: a query after the right password alone would show by its time that the address was not known before its sign-up.
        learned.isUnconfirmed = reachesPeople(env) && (await isUnconfirmed(env.DB, address));
      }),
      after: createAuthMiddleware(async ({ context, setSignedCookie }) => {
        if (learned.userId === undefined) return;
        const { name, attributes } = context.createAuthCookie(knownBrowser, { maxAge: yearSeconds });
        await setSignedCookie(name, `${learned.userId}.${crypto.randomUUID()}`, context.secret, attributes);
      }),
    },
    databaseHooks: {
      user: {
        create: {
          // A new user from a linked login. The provider's profile image is not stored.
          before: async (user, context) => {
            if (context?.path === "/sign-up/email") return;
            if (!user.emailVerified) throw refusal("email_not_verified");
            const isByGroup = [...groupRoles(settings, learned.groups ?? []).values()].some(Boolean);
            if (!isByGroup && !(await maySignUp(user.email))) throw refusal("signup_disabled");
            return { data: { ...user, image: null } };
          },
        },
      },
      session: {
        create: {
          // The password may be that of a stranger who signed up with the address.
          before: async (session, context) => {
            if (context?.path === "/sign-in/email" && learned.isUnconfirmed !== false) throw refusal(unconfirmed);
            if (!(await attempts.countSession(session.userId))) throw new APIError("TOO_MANY_REQUESTS");
            return { data: { ...session, userAgent: session.userAgent?.slice(0, maxAgent) } };
          },
          after: async ({ userId }) => {
            learned.userId = userId;
          },
        },
      },
      account: {
        create: {
          // The gateway makes no calls at the login provider for the user, so tokens are not stored.
          before: async (account) => ({
            data: {
              ...account,
              accessToken: null,
              refreshToken: null,
              idToken: null,
              accessTokenExpiresAt: null,
              refreshTokenExpiresAt: null,
            },
          }),
        },
      },
    },
    rateLimit: {
      enabled: true,
      customStorage: { consume: (key, rule) => attempts.consume(key, rule) },
      window: 60,
      max: 60,
      customRules: {
        "/sign-in/email": { window: 60, max: 5 },
        "/sign-up/email": { window: 3600, max: 5 },
        "/change-password": { window: 60, max: 5 },
        "/request-password-reset": { window: 3600, max: 5 },
        "/reset-password": { window: 60, max: 5 },
        "/send-verification-email": { window: 3600, max: 5 },
        "/change-email": { window: 3600, max: 5 },
        "/sign-in/social": { window: 60, max: 20 },
        "/passkey/verify-authentication": { window: 60, max: 10 },
      },
    },
    onAPIError: { errorURL: "/console/sign-in" },
    advanced: {
      cookiePrefix: "gateway",
      useSecureCookies: origin.startsWith("https:"),
      ipAddress: { ipAddressHeaders: ["cf-connecting-ip"] },
      // Not awaited: the response time would reveal that the address is known.
      backgroundTasks: { handler: waitUntil },
    },
  });
}

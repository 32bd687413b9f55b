/** Sign-in by better-auth: passwords, linked logins, passkeys, session cookies, rate-limited attempts. Loaded by the first page that needs it, because it is two thirds of the console's start-up time. */

import { passkey } from "@better-auth/passkey";
import { betterAuth } from "better-auth";
import { APIError } from "better-auth/api";
import { type Attempts, authPath, configuredLogins, freshSeconds, loginSecrets } from "./auth.ts";
import { buildPost } from "./mail.ts";
import { isInvited, proveAddress } from "./members.ts";
import type { Translate } from "./messages.ts";
import { hash, maxPasswordLength, minPasswordLength, verify } from "./password-hash.ts";
import { signup } from "./settings.ts";

/** A passkey without user verification proves only possession of the device. */
function wantUser(isVerified: boolean | undefined): void {
  if (!isVerified) throw new APIError("UNAUTHORIZED", { message: "The user was not verified" });
}

const refusal = (code: string) => new APIError("FORBIDDEN", { code, message: code });

/** The request's host, its language, and work that may continue after its answer. */
interface Around {
  /** Secure cookies, except on a developer's machine without https. */
  origin: string;
  t: Translate;
  waitUntil: (work: Promise<unknown>) => void;
  attempts: Attempts;
}

/** Creates better-auth for one host. Only our pages call its endpoints, and they decide which users may sign up with a password. */
export function buildAuth(env: ConsoleEnv, { origin, t, waitUntil, attempts }: Around) {
  if (!env.AUTH_SECRET) throw new Error("the secret AUTH_SECRET is not set");
  const post = buildPost(env, origin);
  const sendLink = async (name: "reset" | "confirm", email: string, token: string) =>
    post?.({
      to: email,
      subject: t(`mail_${name}_subject`),
      text: t(`mail_${name}`, { link: `${origin}/console/${name}?token=${encodeURIComponent(token)}` }),
    });
  return betterAuth({
    database: env.DB,
    baseURL: origin,
    basePath: authPath,
    secret: env.AUTH_SECRET,
    telemetry: { enabled: false },
    logger: { level: "error" },
    emailAndPassword: {
      enabled: true,
      minPasswordLength: minPasswordLength,
      maxPasswordLength: maxPasswordLength,
      password: { hash, verify },
      revokeSessionsOnPasswordReset: true,
      ...(post && { sendResetPassword: ({ user, token }) => sendLink("reset", user.email, token) }),
      onPasswordReset: ({ user }) => proveAddress(env.DB, user.id),
    },
    emailVerification: {
      sendOnSignUp: true,
      ...(post && { sendVerificationEmail: ({ user, token }) => sendLink("confirm", user.email, token) }),
    },
    socialProviders: Object.fromEntries(
      configuredLogins(env).map((login) => {
        const [clientId = "", clientSecret = ""] = loginSecrets(env, login);
        return [login, { clientId, clientSecret, disableSignUp: signup(env) === "closed" }];
      }),
    ),
    plugins: [
      passkey({
        rpName: new URL(origin).host,
        schema: { passkey: { modelName: "auth_passkey" } },
        authenticatorSelection: { residentKey: "required", userVerification: "required" },
        registration: { afterVerification: ({ verification }) => wantUser(verification.registrationInfo?.userVerified) },
        authentication: { afterVerification: ({ verification }) => wantUser(verification.authenticationInfo.userVerified) },
      }),
    ],
    user: { modelName: "auth_user", changeEmail: { enabled: post !== undefined } },
    session: { modelName: "auth_session", expiresIn: 7 * 86_400, updateAge: 86_400, freshAge: freshSeconds },
    // better-auth links a login to a user only if both have verified the same address.
    account: { modelName: "auth_account", updateAccountOnSignIn: false },
    verification: { modelName: "auth_verification" },
    databaseHooks: {
      user: {
        create: {
          // A new user from a linked login. The provider's profile image is not stored.
          before: async (user, context) => {
            if (context?.path === "/sign-up/email") return;
            if (!user.emailVerified) throw refusal("email_not_verified");
            if (signup(env) !== "open" && !(await isInvited(env.DB, user.email))) throw refusal("signup_disabled");
            return { data: { ...user, image: null } };
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

export type Auth = ReturnType<typeof buildAuth>;

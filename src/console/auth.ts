/** Who signs in, by better-auth: passwords, sessions in cookies, attempts that are counted. */

import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import { betterAuth } from "better-auth";

export const authPath = "/console/auth";

/** better-auth's own hash is JavaScript and takes longer than a Worker may: N 2^14, r 8, p 5 by the runtime itself. */
const cost = { N: 2 ** 14, r: 8, p: 5, maxmem: 64 * 1024 * 1024 };
const keyBytes = 64;

const derive = (password: string, salt: Uint8Array) =>
  new Promise<Uint8Array>((resolve, reject) => {
    scrypt(password.normalize("NFKC"), salt, keyBytes, cost, (error, key) => (error ? reject(error) : resolve(key)));
  });

/** `salt:key`, both hexadecimal. */
async function hash(password: string): Promise<string> {
  const salt = randomBytes(16);
  return `${salt.toString("hex")}:${new Uint8Array(await derive(password, salt)).toHex()}`;
}

async function verify({ hash: stored, password }: { hash: string; password: string }): Promise<boolean> {
  const [salt = "", key = ""] = stored.split(":");
  const expected = Uint8Array.fromHex(key);
  const actual = await derive(password, Uint8Array.fromHex(salt));
  return expected.length === actual.length && timingSafeEqual(expected, actual);
}

/** Ten characters at least; what more is asked of a password makes it worse (NIST SP 800-63B). */
export const leastPasswordLength = 10;

/** The sign-in of one host; who may sign up is decided by the pages, which alone reach it. Its origin decides whether cookies are secure: only a developer's machine goes without. */
export function authOf(env: ConsoleEnv, origin: string) {
  if (!env.AUTH_SECRET) throw new Error("the secret AUTH_SECRET is not set");
  return betterAuth({
    database: env.DB,
    baseURL: origin,
    basePath: authPath,
    secret: env.AUTH_SECRET,
    telemetry: { enabled: false },
    emailAndPassword: {
      enabled: true,
      minPasswordLength: leastPasswordLength,
      maxPasswordLength: 200,
      password: { hash, verify },
    },
    user: { modelName: "auth_user" },
    session: { modelName: "auth_session", expiresIn: 7 * 86_400, updateAge: 86_400 },
    account: { modelName: "auth_account" },
    verification: { modelName: "auth_verification" },
    rateLimit: {
      enabled: true,
      storage: "database",
      modelName: "auth_rate_limit",
      window: 60,
      max: 60,
      customRules: { "/sign-in/email": { window: 60, max: 5 }, "/sign-up/email": { window: 3600, max: 5 } },
    },
    advanced: {
      cookiePrefix: "gateway",
      useSecureCookies: origin.startsWith("https:"),
      ipAddress: { ipAddressHeaders: ["cf-connecting-ip"] },
    },
  });
}

export type Auth = ReturnType<typeof authOf>;

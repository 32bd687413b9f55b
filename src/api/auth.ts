/** Authentication by API key, and rate limits. */

import type { MiddlewareHandler } from "hono";
import { type Caller, findCaller } from "../db/callers.ts";
import { limitsRates, perMinute } from "../config.ts";
import { ApiError } from "../errors.ts";
import { isBrowserToken, openBrowserToken } from "./browser-tokens.ts";
import type { AppContext, AppEnv } from "./frame.ts";
import { isDryRun } from "./options.ts";

/** The token of `Authorization: Bearer <token>`; undefined without header, with another scheme or an empty token. */
export const bearerToken = (c: AppContext) => /^bearer +(\S+) *$/i.exec(c.req.header("authorization") ?? "")?.[1];

/** Requests of the console, which authenticates its users itself. */
const vouched = new WeakMap<Request, Caller>();

/** Authenticates this request as the caller, without a key. */
export const authenticateAs = (request: Request, caller: Caller) => void vouched.set(request, caller);

/**
 * Admits a request with a valid key if key and account are within their rate limits. A browser token is refused with `key_scope`, except
 * where `takes` allows it.
 */
export async function admit(c: AppContext, kind: "submission" | "read", takes?: "browser tokens"): Promise<void> {
  const token = bearerToken(c);
  const caller =
    token === undefined
      ? vouched.get(c.req.raw)
      : isBrowserToken(token)
        ? await openBrowserToken(c, token)
        : await findCaller(c.env, token);
  if (!caller) throw new ApiError("unauthorized", { headers: { "www-authenticate": "Bearer" } });
  c.set("caller", caller);
  if (caller.token && !takes) throw new ApiError("key_scope");
  await countRequest(c, kind);
}

/** Admits a submission. A dry run counts as a read. Browser tokens may not make one, because it shows the account's remaining balance. */
export const admitToSubmit = (c: AppContext, takes?: "browser tokens"): Promise<void> =>
  isDryRun(c) ? admit(c, "read") : admit(c, "submission", takes);

export const admitted =
  (kind: "submission" | "read", takes?: "browser tokens"): MiddlewareHandler<AppEnv> =>
  async (c, next) => {
    await admit(c, kind, takes);
    await next();
  };

/** Seconds to the next minute: the platform does not report when its window ends, but it has ended by then. */
export const secondsLeft = (now: number) => 60 - (Math.floor(now / 1000) % 60);

/**
 * Counts the request for its key and, if the key is within its limit, for the account: an account cannot get more by having
 * many keys, and a key over its limit does not use up the account's. Throws `rate_limit_exceeded`.
 */
export async function countRequest(c: AppContext, kind: "submission" | "read"): Promise<void> {
  const { env } = c;
  if (!limitsRates(env)) return;
  const { keyId, accountId } = c.get("caller");
  const limits = perMinute(env, kind);
  const [ofKey, ofAccount] = kind === "submission" ? [env.SUBMISSIONS, env.ACCOUNT_SUBMISSIONS] : [env.READS, env.ACCOUNT_READS];
  c.set("limit", String(limits.key));
  if (!(await ofKey.limit({ key: keyId })).success) throw tooMany();
  if ((await ofAccount.limit({ key: accountId })).success) return;
  c.set("limit", String(limits.account));
  throw tooMany();
}

const tooMany = () => new ApiError("rate_limit_exceeded", { retryAfter: secondsLeft(Date.now()) });

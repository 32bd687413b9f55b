/** Authentication by API key, and rate limits. */

import { settingsFullUntil } from "../../db/audit-log.ts";
import { vouchedCaller } from "../../db/vouched.ts";
import type { AppContext, Handle } from "./context.ts";
import { cachedCaller, type Caller, findCaller } from "../../db/callers.ts";
import { limitsRates, perMinute } from "../../config.ts";
import { ApiError } from "../../base/errors.ts";
import { isClientToken, openClientToken } from "./client-tokens.ts";
import { isDryRun } from "./options.ts";
import { wholeRequest } from "./origin.ts";
import { findUnlessStranger, tooManyRequests } from "./strangers.ts";

/** The token of `Authorization: Bearer <token>`; undefined without header, with another scheme or an empty token. */
export const bearerToken = (c: AppContext) => /^bearer +(\S.*)$/i.exec(c.req.header("authorization") ?? "")?.[1];

/**
 * The caller of a request: of its key or client token, or the console's user; undefined without one, or if it is unknown. Throws
 * `rate_limit_exceeded` if the address has sent too many unknown ones, and what `openClientToken` throws.
 */
export function authenticate(c: AppContext): Caller | undefined | Promise<Caller | undefined> {
  const token = bearerToken(c);
  if (token === undefined) return vouchedCaller(c.req.raw);
  if (!isClientToken(token))
    return cachedCaller(c.env, c.executionCtx, token) ?? findUnlessStranger(c, token, () => findCaller(c.env, token));
  // Pages may read every answer to a token, also that it was not looked up.
  c.set("allowOrigin", "*");
  return findUnlessStranger(c, token, () => openClientToken(c, token));
}

/** The error of a request without a key, or with one that is not valid (RFC 6750, section 3). */
export const noKey = (c: AppContext) =>
  new ApiError("unauthorized", {
    headers: { "www-authenticate": bearerToken(c) === undefined ? "Bearer" : 'Bearer error="invalid_token"' },
  });

/**
 * Admits a request with a valid key if key and account are within their rate limits. A client token has limits of its own, and is refused
 * with `key_scope` except where `takes` allows it.
 */
export async function admit(c: AppContext, kind: "submission" | "read", takes?: "client tokens"): Promise<void> {
  const caller = await authenticate(c);
  if (!caller) throw noKey(c);
  c.set("caller", caller);
  await countRequest(c, kind);
  if (caller.token && !takes) throw new ApiError("key_scope");
  // Only the console calls for viewers, who read.
  if (caller.role === "viewer" && c.req.method !== "GET") throw new ApiError("key_scope");
}

/** Admits a submission. A dry run counts as a read, unless its body is large (`countLargeDryRun`). */
export const admitToSubmit = (c: AppContext, takes?: "client tokens"): Promise<void> =>
  admit(c, isDryRun(c) ? "read" : "submission", takes);

/** Counts a dry run as a submission: a body that needs a permit costs the same whether or not a task follows. */
export const countLargeDryRun = async (c: AppContext): Promise<void> => {
  if (isDryRun(c)) await countRequest(c, "submission");
};

/** Counts a submission that waits for its task as a read too. Its answer still names the limit of submissions. */
export async function countAwaitedSubmission(c: AppContext): Promise<void> {
  const limit = c.get("limit");
  await countRequest(c, "read");
  if (limit !== undefined) c.set("limit", limit);
}

/** The handler for requests that `admit` admits. */
export const admitted =
  (kind: "submission" | "read", handle: Handle, takes?: "client tokens"): Handle =>
  async (c, id) => {
    await admit(c, kind, takes);
    return handle(c, id);
  };

/** The handler of a change of the account's settings, which an account may make a limited number of times an hour. */
export const settingsChange =
  (handle: Handle): Handle =>
  async (c, id) => {
    const now = Date.now();
    const until = limitsRates(c.env) ? await settingsFullUntil(c.env.DB, c.get("caller").accountId, now) : undefined;
    if (until !== undefined) throw new ApiError("rate_limit_exceeded", { retryAfter: Math.ceil((until - now) / 1000) });
    return handle(c, id);
  };

/**
 * Counts the request for its key and, if the key is within its limit, for the account: an account cannot get more by having
 * many keys, and a key over its limit does not use up the account's. A client token may be in a stranger's hands: its requests count for
 * the token, then for all tokens of the account together, and never for a key or the account itself. Throws `rate_limit_exceeded`.
 */
export async function countRequest(c: AppContext, kind: "submission" | "read"): Promise<void> {
  const { env } = c;
  if (!limitsRates(env)) return;
  const whole = wholeRequest(c);
  const counted = whole?.get("counted");
  if (whole && counted?.includes(kind)) {
    const left = counted.filter((one) => one !== kind);
    whole.set("counted", left);
    c.set("limit", whole.get("limit"));
    return;
  }
  const { keyId, accountId, token } = c.get("caller");
  const limits = perMinute(env, kind);
  const [ofKey, ofAccount, ofToken] =
    kind === "submission"
      ? [env.SUBMISSIONS, env.ACCOUNT_SUBMISSIONS, env.TOKEN_SUBMISSIONS]
      : [env.READS, env.ACCOUNT_READS, env.TOKEN_READS];
  c.set("limit", String(token ? limits.token : limits.key));
  const { success } = token ? await ofToken.limit({ key: token.id }) : await ofKey.limit({ key: keyId });
  if (!success) throw tooManyRequests();
  if ((await ofAccount.limit({ key: token ? `${accountId} tokens` : accountId })).success) return;
  c.set("limit", String(limits.account));
  throw tooManyRequests();
}

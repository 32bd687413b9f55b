/** Who calls, and how often: the API key and its rate limits. */

import type { MiddlewareHandler } from "hono";
import { type Caller, findCaller } from "../db/callers.ts";
import { ApiError } from "../errors.ts";
import type { AppContext, AppEnv } from "./frame.ts";

/** The token of `Authorization: Bearer <token>`; undefined without header, with another scheme or an empty token. */
export const bearerToken = (c: AppContext) => /^bearer +(\S+) *$/i.exec(c.req.header("authorization") ?? "")?.[1];

/** Requests of the console, which knows its people itself. */
const vouched = new WeakMap<Request, Caller>();

/** Lets this very request pass as the caller's, without a key. */
export const authenticateAs = (request: Request, caller: Caller) => void vouched.set(request, caller);

/** Lets a request in when its key is good and has not used up its minute: 60 submissions and 600 other calls, unless configured otherwise. */
export async function admit(c: AppContext, kind: "submission" | "read"): Promise<void> {
  const token = bearerToken(c);
  const caller = token === undefined ? vouched.get(c.req.raw) : await findCaller(c.env.DB, token);
  if (!caller) throw new ApiError("unauthorized", { headers: { "www-authenticate": "Bearer" } });
  c.set("caller", caller);
  await countRequest(c, kind);
}

export const admitted =
  (kind: "submission" | "read"): MiddlewareHandler<AppEnv> =>
  async (c, next) => {
    await admit(c, kind);
    await next();
  };

/** Seconds to the turn of the minute: the platform tells nothing of its window, which is over by then. */
export const secondsLeft = (now: number) => 60 - (Math.floor(now / 1000) % 60);

/** Throws `rate_limit_exceeded` when the key has used up its minute. */
export async function countRequest(c: AppContext, kind: "submission" | "read"): Promise<void> {
  const { env } = c;
  if (env.RATE_LIMITS === "off") return;
  const [binding, perMinute] = kind === "submission" ? [env.SUBMISSIONS, env.SUBMISSIONS_PER_MINUTE] : [env.READS, env.READS_PER_MINUTE];
  c.set("limit", perMinute);
  const { success } = await binding.limit({ key: c.get("caller").keyId });
  if (success) return;
  const seconds = secondsLeft(Date.now());
  throw new ApiError("rate_limit_exceeded", { retryAfter: seconds, headers: { "x-ratelimit-reset-requests": `${seconds}s` } });
}

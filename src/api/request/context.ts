/** The context of a request: its variables, the handler of its route, and what handlers read from its URL and bindings. */

import type { Language } from "../../messages/language.ts";
import type { Caller } from "../../db/callers.ts";
import { assetBaseUrl } from "../../config.ts";
import { ApiError } from "../../base/errors.ts";
import type { Context } from "hono";

export interface AppEnv {
  Bindings: Env;
  Variables: {
    started: number;
    requestId: string;
    /** The request's URL, read once: the runtime builds the string at each access. */
    url: string;
    language: Language;
    caller: Caller;
    /** The rate limit per minute that applies to the request. */
    limit?: string;
    /** What a request of OpenAI's paths has been counted as before its body was read: the parts that it makes are not counted for it again. */
    counted?: ("submission" | "read")[];
    /** The code and the message of the answer's error. */
    outcome?: string;
    message?: string;
    /** The task or chat that the request made or reads. */
    task?: string;
    /** True for `/v1/estimates`, where every request is a dry run. */
    isEstimate?: true;
    /** True if the request has made the task. */
    isAccepted?: boolean;
    model?: string;
    /** When the model ends, as an HTTP date; for its successful answers. */
    sunset?: string;
    /** The names of the body's fields that have no effect; for successful answers. */
    dropped?: string;
    /** A whole chat and its price in millionths: in the log alone, because it has no page. */
    settled?: { task: string; charged: number };
    /** True for the reads that are by far the most frequent, and nearly identical: one of many has a log line. */
    isSampled?: boolean;
    /** The origin whose pages may read the answer, "*" for all. */
    allowOrigin?: string;
  };
}

export type AppContext = Context<AppEnv>;

/** The handler of a route; `id` is the path's `:id`, empty if it has none. Throws `ApiError`. */
export type Handle = (c: AppContext, id: string) => Response | Promise<Response>;

/** Most requests have no query, and should not pay for reading one. */
export const hasQuery = (c: AppContext): boolean => c.get("url").includes("?");

/** A query parameter; the first one if it is repeated. */
export const queryParameter = (c: AppContext, name: string): string | undefined => (hasQuery(c) ? c.req.query(name) : undefined);

/** The gateway's host name, as the caller wrote it. */
export const hostName = (c: AppContext) => new URL(c.get("url")).hostname;

/** The base URL of assets: the gateway's own host unless the operator sets another one. */
export const assetBase = (c: AppContext) => assetBaseUrl(c.env) ?? c.get("url").slice(0, c.get("url").indexOf("/", "https://".length));

/** The operations Worker, which does slow or rare work. Throws 404 if it is not deployed. */
export function operationsWorker(c: AppContext): NonNullable<Env["OPERATIONS"]> {
  if (!c.env.OPERATIONS) throw new ApiError("not_found");
  return c.env.OPERATIONS;
}

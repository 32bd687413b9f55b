/** Request middleware: request id, language, common response headers, access log. */

import type { Context, ErrorHandler, Handler, MiddlewareHandler } from "hono";
import type { Caller } from "../db/callers.ts";
import { assetBaseUrl, logsSteps, statusLogShare } from "../config.ts";
import { log } from "../log.ts";
import { commonHeaders } from "../tasks/view-headers.ts";
import { logStep } from "../step-log.ts";
import { logRequest } from "./request-log.ts";
import { type Language, chooseLanguage } from "../messages/language.ts";
import type { Watch } from "./watch.ts";

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
    outcome?: string;
    /** The time limits of a chat. */
    watch?: Watch;
    task?: string;
    /** True if the request has made the task. */
    isAccepted?: boolean;
    model?: string;
    /** A chat that was settled before its answer, and its price in millionths: in the log alone, because it has no page. */
    settled?: { task: string; charged: number };
    /** True if the response already has the common headers. */
    hasCommonHeaders?: boolean;
    /** The origin whose pages may read the answer, "*" for all. */
    allowOrigin?: string;
  };
}

export type AppContext = Context<AppEnv>;

let isolateId: string | undefined;
let requests = 0;

/** A UUID of the isolate's random part and a counter: random bytes for each request cost more. */
function newRequestId(): string {
  isolateId ??= crypto.randomUUID().slice(0, -12);
  return isolateId + (++requests).toString(16).padStart(12, "0");
}

function enter(c: AppContext): void {
  c.set("started", Date.now());
  c.set("requestId", newRequestId());
  c.set("url", c.req.url);
  c.set("language", chooseLanguage(queryParameter(c, "language"), c.req.header("accept-language")));
}

function leave(c: AppContext, { status, headers }: Response): void {
  const requestId = c.get("requestId");
  const caller = c.get("caller") as Caller | undefined;
  // Set on the answer itself: hono's own method makes a second response around a finished one.
  if (!c.get("hasCommonHeaders"))
    for (const [name, value] of Object.entries(commonHeaders(requestId, c.get("limit")))) headers.set(name, value);
  const origin = c.get("allowOrigin");
  if (origin !== undefined) {
    headers.set("access-control-allow-origin", origin);
    headers.set("access-control-expose-headers", exposedHeaders);
    if (origin !== "*") headers.append("vary", "Origin");
  }
  const entry = {
    request: requestId,
    // Only the path, because queries contain signatures; so does the path of a callback.
    path: `${c.req.method} ${c.req.path.slice(0, 200).replace(/^(\/callbacks\/\w+)\/.*/, "$1")}`,
    status,
    outcome: c.get("outcome") ?? "ok",
    key: caller?.keyId,
    task: c.get("task"),
    model: c.get("model"),
    ms: Date.now() - c.get("started"),
  };
  logRequest(c, entry);
  // One line is logged for this many successful status queries, which are by far the most frequent requests and nearly identical, and for this
  // many submissions: the line of each task's end has their facts.
  const isOneOfMany = c.get("isAccepted") ? !logsSteps(c.env) : c.get("hasCommonHeaders") && c.req.method !== "POST" && status < 400;
  const every = isOneOfMany ? statusLogShare(c.env) : 1;
  const line = { ...(every > 1 && { every }), ...entry, ...c.get("settled"), account: caller?.accountId };
  // A provider's call is a step of its task.
  if (status < 400 && c.req.path.startsWith("/callbacks/")) logStep(c.env, "request", line);
  else if (Math.random() * every < 1) log("request", line);
}

const exposedHeaders =
  "content-language, etag, idempotent-replayed, location, retry-after, x-ratelimit-limit-requests, x-ratelimit-reset-requests, x-request-id";

/** Answers CORS preflight requests of browsers, which do not yet contain the credentials. */
function answerPreflight(c: AppContext): void {
  c.set("allowOrigin", "*");
  c.res = new Response(null, {
    status: 204,
    headers: {
      "access-control-allow-methods": "GET, HEAD, POST",
      "access-control-allow-headers": "Authorization, Content-Type, Idempotency-Key, If-None-Match, Last-Event-ID, X-Client-Request-Id",
      "access-control-max-age": "86400",
    },
  });
}

export const middleware: MiddlewareHandler<AppEnv> = async (c, next) => {
  enter(c);
  if (c.req.method === "OPTIONS" && /^\/(v1\/|(user\/)?balance\b)/.test(c.req.path)) answerPreflight(c);
  else await next();
  leave(c, c.res);
};

/** The same middleware for the single handler of a route, with `onError` for its errors. */
export const withMiddleware =
  (handle: (c: AppContext) => Promise<Response>, onError: ErrorHandler<AppEnv>): Handler<AppEnv> =>
  async (c) => {
    enter(c);
    const response = await handle(c).catch((error: Error) => onError(error, c));
    leave(c, response);
    return response;
  };

/** A query parameter; fast for requests without a query. */
export const queryParameter = (c: AppContext, name: string): string | undefined =>
  c.get("url").includes("?") ? c.req.query(name) : undefined;

/** A JSON answer with Content-Language and Vary. */
export function answer(c: AppContext, body: object, status: 200 | 201 = 200): Response {
  c.header("content-language", c.get("language"));
  c.header("vary", "Accept-Language", { append: true });
  return c.json(body, status);
}

/** The base URL of assets: the gateway's own host unless the operator sets another one. */
export const assetBase = (c: AppContext) => assetBaseUrl(c.env) ?? c.get("url").slice(0, c.get("url").indexOf("/", "https://".length));

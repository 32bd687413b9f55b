/** What is around every request: its id, its language, the headers of every answer, its log line. */

import type { Context, ErrorHandler, Handler, MiddlewareHandler } from "hono";
import type { Caller } from "../db/callers.ts";
import { assetBaseUrl } from "../config.ts";
import { log } from "../log.ts";
import { commonHeaders } from "../tasks/view-headers.ts";
import { type Language, chooseLanguage } from "../messages/index.ts";

export interface AppEnv {
  Bindings: Env;
  Variables: {
    started: number;
    requestId: string;
    /** The request's, read once: the runtime makes the text anew at each look. */
    url: string;
    language: Language;
    caller: Caller;
    /** How many such requests the caller may make in a minute. */
    limit?: string;
    outcome?: string;
    task?: string;
    model?: string;
    /** The answer has the headers of every answer already: a task object made it for this request. */
    hasCommonHeaders?: boolean;
    /** The origin whose pages may read the answer, "*" for all. */
    allowOrigin?: string;
  };
}

export type AppContext = Context<AppEnv>;

let isolateId: string | undefined;
let requests = 0;

/** A UUID of the isolate's random part and a count: random bytes for each request cost more. */
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
  // On the answer itself: hono's own way of setting a header makes a second answer around a finished one.
  if (!c.get("hasCommonHeaders"))
    for (const [name, value] of Object.entries(commonHeaders(requestId, c.get("limit")))) headers.set(name, value);
  const origin = c.get("allowOrigin");
  if (origin !== undefined) {
    headers.set("access-control-allow-origin", origin);
    headers.set("access-control-expose-headers", exposedHeaders);
    if (origin !== "*") headers.append("vary", "Origin");
  }
  log("request", {
    request: requestId,
    // The path only: queries carry signatures.
    path: `${c.req.method} ${c.req.path.slice(0, 200)}`,
    status,
    outcome: c.get("outcome") ?? "ok",
    account: caller?.accountId,
    key: caller?.keyId,
    task: c.get("task"),
    model: c.get("model"),
    ms: Date.now() - c.get("started"),
  });
}

const exposedHeaders =
  "content-language, etag, idempotent-replayed, location, retry-after, x-ratelimit-limit-requests, x-ratelimit-reset-requests, x-request-id";

/** Answers the question of a browser whether a page may ask: with which credentials it will is not known yet. */
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

/** The same around the one handler of a route, with `onError` for what it throws. */
export const withMiddleware =
  (handle: (c: AppContext) => Promise<Response>, onError: ErrorHandler<AppEnv>): Handler<AppEnv> =>
  async (c) => {
    enter(c);
    const response = await handle(c).catch((error: Error) => onError(error, c));
    leave(c, response);
    return response;
  };

/** A parameter of the query; most requests have none. */
export const queryParameter = (c: AppContext, name: string): string | undefined =>
  c.get("url").includes("?") ? c.req.query(name) : undefined;

/** A JSON answer with the headers that say in which language it speaks. */
export function answer(c: AppContext, body: object, status: 200 | 201 = 200): Response {
  c.header("content-language", c.get("language"));
  c.header("vary", "Accept-Language", { append: true });
  return c.json(body, status);
}

/** Where the URLs of assets begin: on the gateway's own host unless the operator says otherwise. */
export const assetBase = (c: AppContext) => assetBaseUrl(c.env) ?? c.get("url").slice(0, c.get("url").indexOf("/", "https://".length));

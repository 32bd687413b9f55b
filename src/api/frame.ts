/** What is around every request: its id, its language, the headers of every answer, its log line. */

import type { Context, MiddlewareHandler } from "hono";
import type { Caller } from "../accounts.ts";
import { log } from "../log.ts";
import { frameHeaders } from "../views/headers.ts";
import { type Language, languageOf } from "../views/messages.ts";

export interface AppEnv {
  Bindings: Env;
  Variables: {
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

export const frame: MiddlewareHandler<AppEnv> = async (c, next) => {
  const started = Date.now();
  const requestId = newRequestId();
  c.set("requestId", requestId);
  c.set("url", c.req.url);
  c.set("language", languageOf(queryOf(c, "language"), c.req.header("accept-language")));
  await next();
  const caller = c.get("caller") as Caller | undefined;
  // On the answer itself: hono's own way of setting a header makes a second answer around a finished one.
  const { headers } = c.res;
  // One that a task object made for this request has them.
  if (!headers.has("x-request-id"))
    for (const [name, value] of Object.entries(frameHeaders(requestId, c.get("limit")))) headers.set(name, value);
  log("request", {
    request: requestId,
    // The path only: queries carry signatures.
    path: `${c.req.method} ${c.req.path.slice(0, 200)}`,
    status: c.res.status,
    outcome: c.get("outcome") ?? "ok",
    account: caller?.accountId,
    key: caller?.keyId,
    task: c.get("task"),
    model: c.get("model"),
    ms: Date.now() - started,
  });
};

/** A parameter of the query; most requests have none. */
export const queryOf = (c: AppContext, name: string): string | undefined => (c.get("url").includes("?") ? c.req.query(name) : undefined);

/** A JSON answer with the headers that say in which language it speaks. */
export function answer(c: AppContext, body: object, status: 200 | 201 = 200): Response {
  c.header("content-language", c.get("language"));
  c.header("vary", "Accept-Language", { append: true });
  return c.json(body, status);
}

/** Where the URLs of assets begin: on the gateway's own host unless the operator says otherwise. */
export const assetBase = (c: AppContext) => c.env.ASSET_BASE_URL ?? c.get("url").slice(0, c.get("url").indexOf("/", "https://".length));

/** What is around every request: its id, its language, the headers of every answer, its log line. */

import type { Context, MiddlewareHandler } from "hono";
import type { Caller } from "../accounts.ts";
import { log } from "../log.ts";
import { type Language, languageOf } from "./messages.ts";

export interface AppEnv {
  Bindings: Env;
  Variables: { requestId: string; language: Language; caller: Caller; outcome?: string; task?: string; model?: string };
}

export type AppContext = Context<AppEnv>;

export const frame: MiddlewareHandler<AppEnv> = async (c, next) => {
  const started = Date.now();
  const requestId = crypto.randomUUID();
  c.set("requestId", requestId);
  c.set("language", languageOf(c.req.query("language"), c.req.header("accept-language")));
  // Before the answer is made: a header that is set afterwards makes a second answer around the first.
  c.header("x-request-id", requestId);
  c.header("x-content-type-options", "nosniff");
  await next();
  const { caller, outcome = "ok", task, model } = c.var;
  log("request", {
    request: requestId,
    // The path only: queries carry signatures.
    path: `${c.req.method} ${c.req.path.slice(0, 200)}`,
    status: c.res.status,
    outcome,
    account: caller?.accountId,
    key: caller?.keyId,
    task,
    model,
    ms: Date.now() - started,
  });
};

/** A JSON answer with the headers that say in which language it speaks. */
export function answer(c: AppContext, body: object, status: 200 | 201 = 200): Response {
  c.header("content-language", c.get("language"));
  c.header("vary", "Accept-Language", { append: true });
  return c.json(body, status);
}

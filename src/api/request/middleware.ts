/** Request middleware: request id and language before the handler; its error's answer and the access log after it. */

import { type AppContext, type Handle, queryParameter } from "./context.ts";
import type { Caller } from "../../db/callers.ts";
import { logsSteps, statusLogShare } from "../../config.ts";
import { alert, log } from "../../base/log.ts";
import { logStep } from "../../step-log.ts";
import { logRequest } from "./log.ts";
import { chooseLanguage } from "../../messages/language.ts";
import { discardBody } from "./body.ts";
import { onError } from "./errors.ts";

/** The handler with everything that is around it. One function, because hono would build a chain of several, which costs a status query a tenth of its time. */
export const withMiddleware =
  (handle: Handle) =>
  async (c: AppContext): Promise<Response> => {
    enter(c);
    let response;
    try {
      response = await handle(c, c.req.param("id") ?? "");
    } catch (error) {
      response = onError(error, c);
    }
    if (response.status >= 400) await discardBody(c);
    leave(c, response);
    return response;
  };

function enter(c: AppContext): void {
  c.set("started", Date.now());
  // Random as a whole: a counter in it would tell callers how many requests others make.
  c.set("requestId", crypto.randomUUID());
  c.set("url", c.req.url);
  c.set("language", chooseLanguage(queryParameter(c, "language"), c.req.header("accept-language")));
}

function leave(c: AppContext, { status }: Response): void {
  const requestId = c.get("requestId");
  const caller = c.get("caller") as Caller | undefined;
  const { method, path } = c.req;
  const isCallback = path.startsWith("/callbacks/");
  // The log does not say which file a visitor asks about.
  const isCut = isCallback || path.startsWith("/v1/verify/");
  const entry = {
    request: requestId,
    // Only the path, because queries contain signatures; so does the path of a callback.
    path: `${method} ${(isCut ? path.split("/", 3).join("/") : path).slice(0, 200)}`,
    status,
    outcome: c.get("outcome") ?? "ok",
    key: caller?.keyId,
    task: c.get("task"),
    model: c.get("model"),
    ms: Date.now() - c.get("started"),
  };
  let every = 1;
  try {
    logRequest(c, entry);
    // One line is logged for this many frequent reads, and for this many submissions: the line of each task's end has their facts.
    const isOneOfMany = c.get("isAccepted") ? !logsSteps(c.env) : c.get("isSampled") && status < 400;
    every = isOneOfMany ? statusLogShare(c.env) : 1;
  } catch (error) {
    // A wrong variable of the log: what the request did is done, and its answer stays.
    alert("log", { request: requestId, outcome: "wrong_variable" }, error);
  }
  if (Math.random() * every >= 1) return;
  const line = { ...(every > 1 && { every }), ...entry, ...c.get("settled"), account: caller?.accountId };
  // A provider's call is a step of its task.
  if (status < 400 && isCallback) logStep(c.env, "request", line);
  else log("request", line);
}

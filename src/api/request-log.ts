/** Reports callers' requests for the log in the console: collected in this isolate, and written in batches after the answers. */

import { keepsRequests } from "../config.ts";
import type { LoggedRequest } from "../db/requests.ts";
import { alert } from "../log.ts";
import type { AppContext } from "./frame.ts";

/** How long requests are collected before they are written together in one write. */
const batchMs = 10_000;
/** More requests than an isolate handles in that time; further ones are not logged. */
const maxPending = 10_000;

let pending: LoggedRequest[] = [];
/** The time by which the current batch should have been written. */
let due = 0;

/** Requests that a Worker behind the gateway makes as part of a caller's request. */
const within = new WeakMap<Request, AppContext>();

/** Marks a request as part of a caller's request: only the caller's own request is logged. */
export function markAsPart(c: AppContext, part: Request): Request {
  within.set(part, c);
  return part;
}

/** Logs an answered request if it has a caller. The console's own reads are left out, because its pages make them. */
export function logRequest(c: AppContext, entry: Omit<LoggedRequest, "account" | "at">): void {
  const caller = c.get("caller") as AppContext["var"]["caller"] | undefined;
  if (!caller) return;
  const whole = within.get(c.req.raw);
  if (whole) {
    for (const name of ["caller", "task", "model", "outcome"] as const) whole.set(name, c.get(name));
    return;
  }
  const isPageRead = caller.keyHash === undefined && c.req.method === "GET";
  if (!c.env.OPERATIONS || isPageRead || !keepsRequests(c.env) || pending.length >= maxPending) return;
  const at = c.get("started");
  pending.push({ account: caller.accountId, at, ...entry });
  const now = Date.now();
  if (now < due) return;
  due = now + batchMs;
  c.executionCtx.waitUntil(write(c.env.OPERATIONS));
}

/**
 * Writes the collected requests in the time that the platform allows after an answer. A batch that fails is lost, which is acceptable for a
 * log.
 */
async function write(operations: NonNullable<Env["OPERATIONS"]>): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, batchMs));
  const batch = pending;
  [pending, due] = [[], 0];
  await operations.logRequests(batch).catch((error: unknown) => alert("requests", { outcome: "lost" }, error));
}

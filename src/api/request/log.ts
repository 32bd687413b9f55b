/** Reports callers' requests for the log in the console: collected in this isolate, and written in batches after the answers. */

import type { AppContext } from "./context.ts";
import { keepsRequests } from "../../config.ts";
import { type LoggedRequest, RequestPages } from "../../db/request-pages.ts";
import { alert } from "../../base/log.ts";
import { wholeRequest } from "./origin.ts";

/** How long requests are collected before they are written together in one write. */
const batchMs = 10_000;
/** More requests than an isolate handles in that time; further ones are not logged. */
const maxPending = 10_000;
/** Characters of an error's message in the log. */
const maxMessageLength = 160;

let pending = new RequestPages();
/** The time by which the current batch should have been written. */
let due = 0;

/** Logs an answered request if it has a caller: one line for all its parts. The console's own reads are left out, because its pages make them. */
export function logRequest(c: AppContext, entry: Omit<LoggedRequest, "account" | "at">): void {
  const caller = c.get("caller") as AppContext["var"]["caller"] | undefined;
  if (!caller) return;
  const whole = wholeRequest(c);
  if (whole) {
    for (const name of ["caller", "task", "model", "outcome", "message"] as const) whole.set(name, c.get(name));
    return;
  }
  // Strangers with a client token must not displace the account's other requests.
  if (caller.token && entry.outcome === "rate_limit_exceeded") return;
  const isPageRead = caller.keyHash === undefined && c.req.method === "GET";
  if (!c.env.OPERATIONS || isPageRead || !keepsRequests(c.env) || pending.count >= maxPending) return;
  const message = c.get("message")?.slice(0, maxMessageLength);
  pending.add({ account: caller.accountId, at: c.get("started"), ...entry, message });
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
  const { pages } = pending;
  [pending, due] = [new RequestPages(), 0];
  await operations.logRequests(pages).catch((error: unknown) => alert("requests", { outcome: "lost" }, error));
}

/** Client tokens in requests: resolves them to callers, and limits what they may do and which origins may use them. */

import type { AppContext } from "./context.ts";
import { type Caller, findCallerByHash } from "../../db/callers.ts";
import { ApiError } from "../../base/errors.ts";
import { sha256Hex, toTokenObjectId } from "../../base/ids.ts";
import { alert } from "../../base/log.ts";
import { retry, retryRestart } from "../../base/retry.ts";
import { isDryRun } from "./options.ts";
import { wholeRequest } from "./origin.ts";

export const isClientToken = (token: string) => token.startsWith("st-");

/**
 * The caller for a client token; undefined if the token has expired or its key was deleted. Throws `key_scope` if the request's origin is
 * not the token's; pages of its origin alone may read the answer, errors included.
 */
export async function openClientToken(c: AppContext, token: string): Promise<Caller | undefined> {
  const { TOKENS } = c.env;
  const id = toTokenObjectId(TOKENS, token);
  const hash = id && (await sha256Hex(token));
  const terms = hash && (await retryRestart("token", id.toString(), () => TOKENS.get(id).open(hash)));
  const caller = terms && (await findCallerByHash(c.env, terms.keyHash));
  if (!caller) return undefined;
  if (terms.origin !== undefined) {
    c.set("allowOrigin", terms.origin);
    // A request of the OpenAI Worker has the headers that its clients send, not those of the page.
    if ((wholeRequest(c) ?? c).req.header("origin") !== terms.origin)
      throw new ApiError("key_scope", { violations: [{ param: "origin", rule: "not_equal", values: { allowed: terms.origin } }] });
  }
  const { taskIds, kinds, models, expiresAt, characters = [], files = [], callbackUrl, reference, left } = terms;
  const scope = { kinds, models };
  return { ...caller, token: { id: id.toString(), taskIds, scope, expiresAt, characters, files, callbackUrl, reference, left } };
}

/** Fields of a submission that only the token's key may set: they concern the account's own systems and books. */
const ofKey = ["callback_url", "reference", "deliver_to"];

/** Throws `key_scope` if a client token's body sets a field that only its key may set. */
export function requireOwnFields({ token }: Caller, body: Record<string, unknown>): void {
  const violations = ofKey.filter((param) => token && body[param] !== undefined).map((param) => ({ param, rule: "not_with_token" }));
  if (violations.length > 0) throw new ApiError("key_scope", { violations });
}

/**
 * Refuses a token that has used up its tasks before the body is read. A request with an idempotency key may repeat one of its submissions,
 * which is answered.
 */
export function requireTasksLeft(c: AppContext): void {
  const { token } = c.get("caller");
  if (token && token.left.tasks < 1 && c.req.header("idempotency-key") === undefined) throw new ApiError("token_exhausted");
}

/** Counts a token's submission that was refused with this status for a reason of its own: not for the account's money or limits, and not a dry run. */
export async function countRefusal(c: AppContext, status: number): Promise<void> {
  const { token } = c.get("caller");
  const isOwn = status >= 400 && status < 500 && status !== 402 && status !== 429;
  if (!token || !isOwn || isDryRun(c)) return;
  const { TOKENS } = c.env;
  await retry("token", token.id, () => TOKENS.get(TOKENS.idFromString(token.id)).countRefusal()).catch((fault: unknown) =>
    alert("token", { request: c.get("requestId"), outcome: "uncounted" }, fault),
  );
}

/** True if the caller may see this task of its account: a client token may see only the tasks that it submitted. */
export const maySee = ({ token }: Caller, taskId: string) => !token || token.taskIds.includes(taskId);

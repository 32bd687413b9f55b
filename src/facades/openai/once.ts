/** Ensures that a repeated submission is charged once: OpenAI's clients retry automatically and send no idempotency key. */

import type { AppContext } from "./context.ts";
import { isWellFormedKey, sha256Hex } from "../../base/ids.ts";
import type { AttemptEnd } from "./attempt-object.ts";
import { OpenAiError } from "./errors.ts";

/** The work failed: a repeat must start a new attempt. */
export class WorkFailed extends OpenAiError {}

/**
 * Runs a submission with an idempotency key: the caller's own, or one for this caller and `identity`, a text that is equal for repeats of a
 * request. Without either, every request is submitted.
 */
export async function once<T>(
  c: AppContext,
  identity: string | undefined,
  submit: (headers: Record<string, string>) => Promise<T>,
): Promise<T> {
  const own = c.req.header("idempotency-key");
  if (own !== undefined) return submit({ "idempotency-key": own });
  const authorization = c.req.header("authorization") ?? "";
  // Nothing is stored for a malformed API key.
  if (identity === undefined || !isWellFormedKey(authorization.replace(/^bearer +/i, "").trim())) return submit({});
  const attempts = c.env.ATTEMPTS.getByName(await sha256Hex(`${authorization}\n${c.req.path}\n${identity}`));
  const key = await attempts.begin(Number(c.req.header("x-stainless-retry-count") ?? 0) > 0);
  let end: AttemptEnd = "left";
  try {
    const result = await submit({ "idempotency-key": key });
    end = "answered";
    return result;
  } catch (error) {
    const isConflict = error instanceof OpenAiError && error.status === 409;
    if (isConflict || error instanceof WorkFailed) end = "over";
    throw error;
  } finally {
    await attempts.end(key, end);
  }
}

/** Has a submission paid once, however often its client repeats it: OpenAI's clients repeat by themselves and send no idempotency key. */

import { isWellFormedKey, sha256Hex } from "../ids.ts";
import type { AttemptEnd } from "./attempt-object.ts";
import { OpenAiError } from "./errors.ts";
import type { AppContext } from "./paths.ts";

/** The work has ended without a result: a repeat is to begin anew. */
export class WorkFailed extends OpenAiError {}

/**
 * Runs a submission with the headers that name it: the caller's own idempotency key, or one for this caller and `identity`, a text that
 * is the same for repeats of a request. Without either it is made as often as it is asked for.
 */
export async function once<T>(
  c: AppContext,
  identity: string | undefined,
  submit: (headers: Record<string, string>) => Promise<T>,
): Promise<T> {
  const own = c.req.header("idempotency-key");
  if (own !== undefined) return submit({ "idempotency-key": own });
  const authorization = c.req.header("authorization") ?? "";
  // Of what cannot be a key nothing is kept.
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

/** Ensures that a repeated submission is charged once: OpenAI's clients retry automatically and send no idempotency key. */

import type { AppContext } from "./context.ts";
import { isWellFormedKey, sha256Hex } from "../../base/ids.ts";
import { alert } from "../../base/log.ts";
import { retryRestart } from "../../base/retry.ts";
import type { AttemptEnd } from "./attempt-object.ts";
import { OpenAiError } from "./errors.ts";

/** The work failed: a repeat must start a new attempt. */
export class WorkFailed extends OpenAiError {}

/**
 * Gives a submission the header of its idempotency key: the caller's own, or one for this caller and `identity`, a text that is equal for
 * repeats of a request and differs for others.
 */
export type Identify = (identity: string) => Promise<Record<string, string>>;

/** Runs a submission, which `submit` identifies when it knows its content. A dry run is no attempt. */
export async function submitOnce<T>(c: AppContext, submit: (identify: Identify) => Promise<T>): Promise<T> {
  const own = c.req.header("idempotency-key");
  const authorization = c.req.header("authorization") ?? "";
  // Nothing is stored for a malformed API key.
  const isKey = isWellFormedKey(authorization.replace(/^bearer +/i, "").trim());
  let note: ((end: AttemptEnd) => Promise<void>) | undefined;
  const identify: Identify = async (identity) => {
    if (own !== undefined) return { "idempotency-key": own };
    if (!isKey || c.req.query("dry_run") === "true") return {};
    const name = await sha256Hex(`${authorization}\n${c.req.path}\n${identity}`);
    const isRepeat = Number(c.req.header("x-stainless-retry-count") ?? 0) > 0;
    const by = crypto.randomUUID();
    // A new stub for each call: one that broke stays broken, and the work takes minutes.
    const attempts = () => c.env.ATTEMPTS.getByName(name);
    const key = await retryRestart("attempt", by, async () => attempts().begin(isRepeat, by));
    note = (ended) => retryRestart("attempt", by, async () => attempts().end(key, ended));
    return { "idempotency-key": key };
  };
  let end: AttemptEnd = "left";
  try {
    const result = await submit(identify);
    end = "answered";
    return result;
  } catch (error) {
    const isConflict = error instanceof OpenAiError && error.status === 409;
    if (isConflict || error instanceof WorkFailed) end = "over";
    throw error;
  } finally {
    // What was made is answered also if this cannot be noted.
    await note?.(end).catch((fault: unknown) => alert("attempt", { outcome: "not_noted" }, fault));
  }
}

const sampleBytes = 64 * 1024;

/** Represents a large input when repeats are matched: by its size, its first and its last bytes, because to hash all would take as long as to read it. */
export async function sampleInput(chunks: readonly Uint8Array[]): Promise<string> {
  const total = chunks.reduce((sum, { length }) => sum + length, 0);
  const samples: Uint8Array[] = [];
  let at = 0;
  for (const chunk of chunks) {
    samples.push(chunk.subarray(0, Math.max(0, sampleBytes - at)));
    at += chunk.length;
    const last = Math.max(total - sampleBytes, sampleBytes) - (at - chunk.length);
    if (last < chunk.length) samples.push(chunk.subarray(Math.max(0, last)));
  }
  return `${total}:${await sha256Hex(await new Blob(samples).arrayBuffer())}`;
}

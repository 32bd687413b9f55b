/** ModelArk's error bodies, mapped to verdicts and faults. */

import { toFault, readJson } from "../shared/http.ts";
import { badInput, blocked, type Failed, ProviderError } from "../provider.ts";

/** All fields are optional and nullable: the documentation promises none of them. */
export interface WireError {
  code?: string | number | null;
  param?: string | null;
  message?: string | null;
}

/** The account's own limits are exhausted: its trial quota, or the budget that its owner set. A retry after seconds does not help. */
const accountCodes = new Set(["QuotaExceeded", "SetLimitExceeded"]);

/**
 * Converts an error to the caller's verdict; undefined if the caller did not cause it. Codes: docs.byteplus.com/en/docs/ModelArk/1299023.
 */
export function toFailure(error: WireError | null | undefined): Failed | undefined {
  const code = String(error?.code ?? "");
  // The second kind is that of the risk control which an account of Volcengine may add.
  if (/SensitiveContentDetected|RiskDetection/.test(code)) return blocked;
  if (code.startsWith("InvalidImageURL")) return badInput;
  return undefined;
}

/** Reads the refusal of a submission. Returns a verdict on the caller's input, throws all other errors. */
export async function readRefusal(response: Response, what: string, hasImages: boolean): Promise<Failed> {
  const body = await readJson<WireError & { error?: WireError | null }>(response).catch(() => undefined);
  // Some refusals of images/generations have no envelope (seen on ap-southeast, 2026-09-30).
  const error = body?.error ?? body ?? {};
  const code = typeof error.code === "string" ? error.code : "";
  const { status } = response;
  const text = `${what} (${code}): ${status}`;
  // The account has too many queued tasks, which passes: its code is that of a used-up quota, only the sentence differs.
  const isQueueFull = code === "QuotaExceeded" && String(error.message).startsWith("The request has exceeded the quota");
  if (accountCodes.has(code.replace(/\..*/, "")) && !isQueueFull) throw new ProviderError("account", text);
  // With 403; the same as ModelNotOpen with 404.
  if (code === "OperationDenied.ServiceNotOpen") throw new ProviderError("model", text);
  // With 400: the check of the content did not work.
  if (code === "ContentSecurityDetectionError") throw new ProviderError("busy", text);
  if (status >= 400 && status < 500) {
    const failed = toFailure({ code });
    if (failed) return failed;
    // Only `param` identifies the invalid field. It may be empty (volcengine-go-sdk 144): then the cause is unknown, and another route may
    // succeed.
    const isImage = /^(?:image|content)/.test(error.param ?? "");
    if (status === 400 && code.startsWith("InvalidParameter") && hasImages && isImage) return badInput;
  }
  throw toFault(response, what);
}

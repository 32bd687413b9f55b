/** ModelArk's error bodies, mapped to verdicts and faults. */

import { toFault, readJson } from "../shared/http.ts";
import { type Failed, ProviderError } from "../provider.ts";

/** Optional and nullable all: nothing here is promised. */
export interface WireError {
  code?: string | number | null;
  param?: string | null;
}

/** What an error is to the caller; undefined when it is the upstream's own matter. Codes: docs.byteplus.com/en/docs/ModelArk/1299023. */
export function toFailure(error: WireError | null | undefined): Failed | undefined {
  const code = String(error?.code ?? "");
  if (code.includes("SensitiveContentDetected")) return { status: "failed", code: "content_policy_violation" };
  if (code.startsWith("InvalidImageURL")) return { status: "failed", code: "invalid_input" };
  return undefined;
}

/** The refusal of a submission: a verdict on what the caller gave is returned, everything else is thrown. */
export async function refusal(response: Response, what: string, hasPictures: boolean): Promise<Failed> {
  const body = await readJson<WireError & { error?: WireError | null }>(response).catch(() => undefined);
  // Some refusals of images/generations come without the envelope (seen on ap-southeast, 2026-09-30).
  const error = body?.error ?? body ?? {};
  const code = typeof error.code === "string" ? error.code : "";
  if (response.status >= 400 && response.status < 500) {
    const failed = toFailure({ code });
    if (failed) return failed;
    // What we chose ourselves is told by `param`; what is left is the caller's picture.
    const isOurs = /^(ratio|duration|resolution|size|model|watermark)/.test(error.param ?? "");
    if (response.status === 400 && code.startsWith("InvalidParameter") && hasPictures && !isOurs)
      return { status: "failed", code: "invalid_input" };
  }
  const fault = toFault(response, what);
  // The account's own allowance is used up: waiting seconds does not help.
  if (code === "QuotaExceeded") throw new ProviderError(fault.message, { retryable: false, nothingAccepted: true, account: true });
  throw fault;
}

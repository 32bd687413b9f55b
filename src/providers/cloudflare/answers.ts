/** How Cloudflare's answers are read: results in whatever envelope they come, errors by their number. */

import { toFault } from "../shared/http.ts";
import { type Failed, ProviderError } from "../provider.ts";

/** What one call made. */
export type Made = { url: string } | { base64: string } | { bytes: Uint8Array<ArrayBuffer> };

interface Trouble {
  code?: string | number | undefined;
  message?: string | undefined;
}

type Fields = Record<string, unknown>;
const isFields = (value: unknown): value is Fields => typeof value === "object" && value !== null;
const toText = (value: unknown) => (typeof value === "string" || typeof value === "number" ? String(value) : "");

/** The status that a number stands for (developers.cloudflare.com/workers-ai/platform/errors; 4006 is 3036 as accounts see it). */
const statuses: Record<string, number> = {
  "3003": 400,
  "3006": 413,
  "3007": 408,
  "3008": 408,
  "3023": 403,
  "3036": 402,
  "3039": 400,
  "3040": 429,
  "3041": 403,
  "3042": 404,
  "4006": 402,
  "5004": 400,
  "5005": 405,
  // An input that its schema does not take; not in that list.
  "5006": 400,
  "5007": 404,
  "5016": 403,
  "5018": 403,
  "5019": 405,
  // The API's own "Authentication error".
  "10000": 403,
};

/** AI Gateway's guardrails ("Prompt blocked", "Response blocked"), hosted models' filter (3030 and 8007, both shared with others), the makers' own words where they are passed on. */
const contentCode =
  /^201[67]$|prompt contains NSFW|moderation_blocked|content_policy|content_filter|SensitiveContentDetected|PROHIBITED_CONTENT/;
/** Not documented for the third-party path: words that codes of this kind have. */
const moneyCode = /credit|billing|payment|insufficient_(?:funds|balance|quota)/i;

/** An error as a verdict or a fault. Its text stays out of messages: it may repeat the prompt. */
export function verdictOn({ code, message = "" }: Trouble, response?: { status: number; headers: Headers }): Failed | ProviderError {
  const name = toText(code) || (/\b(\d{4,5}|[a-z]+(?:_[a-z]+)+): /.exec(message)?.[1] ?? "");
  if (contentCode.test(name) || contentCode.test(message)) return { status: "failed", code: "content_policy_violation" };
  const status = statuses[name] ?? (moneyCode.test(name) ? 402 : (response?.status ?? 500));
  return toFault({ status, headers: response?.headers ?? new Headers() }, /^\w{1,40}$/.test(name) ? `run ${name}` : "run");
}

/** What is within `{result}` and `{state, result, gatewayMetadata}`, which may be nested, or the bare value; or why there is nothing. */
export function parseResult(value: unknown): { fields: Fields } | { failed: Failed } {
  let at = value;
  while (isFields(at)) {
    if (at["state"] === "Failed") return { failed: toFailed(isFields(at["error"]) ? at["error"] : {}) };
    if (!isFields(at["result"])) return { fields: at };
    at = at["result"];
  }
  return { fields: {} };
}

/** The upstream says itself that it made nothing. */
function toFailed(error: Fields): Failed {
  const verdict = verdictOn({ code: toText(error["code"]), message: toText(error["message"]) });
  // The operator's money is no verdict on the work.
  if (verdict instanceof ProviderError && verdict.account) throw verdict;
  return verdict instanceof ProviderError ? { status: "failed", code: "provider_error" } : verdict;
}

/** The picture or film of a result. Throws when there is none: that it was made and billed is not excluded then. */
export function parseMade(value: unknown): Made | Failed {
  const result = parseResult(value);
  if ("failed" in result) return result.failed;
  const { fields } = result;
  const task = isFields(fields["task"]) ? fields["task"] : {};
  if (fields["status"] === "Fail" || task["status"] === "failed" || task["status"] === "cancelled")
    return toFailed(isFields(task["error"]) ? task["error"] : {});
  const content = isFields(task["content"]) ? task["content"] : {};
  const [first] = Array.isArray(fields["images"]) ? (fields["images"] as unknown[]) : [];
  const text = [fields["image"], fields["video"], first, content["url"]].find((one) => typeof one === "string" && one !== "");
  if (typeof text !== "string") throw new ProviderError("run: nothing in the result", { retryable: false });
  if (/^https?:\/\//.test(text)) return { url: text };
  return { base64: text.replace(/^data:[^,]*,/, "") };
}

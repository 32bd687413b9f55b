/** Reads Cloudflare's answers: results in any of their envelopes, errors by their number. */

import type { JsonPath } from "../../media/json-scanner.ts";
import { toFault } from "../shared/http.ts";
import { ownFailure, blocked, type Failed, type Output, ProviderError } from "../provider.ts";

/** The outputs of one call. */
export type Made = { url: string } | { output: Output };

interface Trouble {
  code?: string | number | undefined;
  message?: string | undefined;
}

type Fields = Record<string, unknown>;
const isFields = (value: unknown): value is Fields => typeof value === "object" && value !== null;
const toText = (value: unknown) => (typeof value === "string" || typeof value === "number" ? String(value) : "");

/**
 * The HTTP status of each error number (developers.cloudflare.com/workers-ai/platform/errors; accounts get 4006 in place of 3036). Without
 * 3041, 5016 and 5018, which refuse one model to the account: as a 403 they would count as a fault of its credentials, for all models.
 */
const statuses: Record<string, number> = {
  "3003": 400,
  "3006": 413,
  "3007": 408,
  "3008": 408,
  // "Invalid or incomplete input for the model"; not in that list.
  "3010": 400,
  "3023": 403,
  "3036": 402,
  "3039": 400,
  "3040": 429,
  "3041": 404,
  "3042": 404,
  "4006": 402,
  "5004": 400,
  "5005": 405,
  // An input that violates the model's schema; not in that list.
  "5006": 400,
  "5007": 404,
  "5016": 404,
  "5018": 404,
  // The prompt and the longest answer exceed the context window.
  "5021": 413,
  "5019": 405,
  // AI Gateway's "User Input Error" on the third-party path (cloudflare/workers-sdk 14657).
  "7003": 400,
  // The API's own "Authentication error".
  "10000": 403,
};

/** AI Gateway's guardrails ("Prompt blocked", "Response blocked"), the filter of hosted models (3030 and 8007, which have other causes too), and the makers' own messages if they are passed on. */
const contentCode =
  /^201[67]$|prompt contains NSFW|output has been flagged|moderation_blocked|content_policy|content_filter|SensitiveContentDetected|PROHIBITED_CONTENT/;
/** Undocumented for third-party models: words that such error codes contain elsewhere. */
const moneyCode = /credit|billing|payment|insufficient_(?:funds|balance|quota)/i;

/**
 * The status of an error without one, as thrown by the binding. Numbers 2xxx, 5xxx and 7xxx, and HTTP's own 4xx, are refusals of the
 * request, also if they are not listed; after all others the outcome is unknown.
 */
const classStatus = (name: string): number => (/^(?:[257]\d{3}|4\d\d)$/.test(name) ? 400 : 500);

/** Converts an error to a verdict or a fault. The error's text is not copied to messages, because it may repeat the prompt. */
export function verdictOn({ code, message = "" }: Trouble, response?: { status: number; headers: Headers }): Failed | ProviderError {
  const name = toText(code) || (/\b(\d{3,5}|[a-z]+(?:_[a-z]+)+): /.exec(message)?.[1] ?? "");
  if (contentCode.test(name) || contentCode.test(message)) return blocked;
  const isHttpRefusal = response === undefined && /^4\d\d$/.test(name);
  const status = statuses[name] ?? (moneyCode.test(name) ? 402 : isHttpRefusal ? Number(name) : (response?.status ?? classStatus(name)));
  return toFault({ status, headers: response?.headers ?? new Headers() }, /^\w{1,40}$/.test(name) ? `run ${name}` : "run");
}

/**
 * Unwraps `{result}` and `{state, result, gatewayMetadata}`, which may be nested; returns the fields, or the error if there is no result.
 */
export function parseResult(value: unknown): { fields: Fields } | { failed: Failed } {
  let at = value;
  while (isFields(at)) {
    if (at["state"] === "Failed") return { failed: toFailed(isFields(at["error"]) ? at["error"] : {}) };
    if (!isFields(at["result"])) return { fields: at };
    at = at["result"];
  }
  return { fields: {} };
}

/** A failure that the upstream reports: it generated nothing. */
function toFailed(error: Fields): Failed {
  const verdict = verdictOn({ code: toText(error["code"]), message: toText(error["message"]) });
  // The operator's lack of money is not a verdict on the request.
  if (verdict instanceof ProviderError && verdict.account) throw verdict;
  return verdict instanceof ProviderError ? ownFailure : verdict;
}

/** The field names in which `parseMade` looks for a file, at any depth of the result. */
const isFileAt = (path: JsonPath): boolean =>
  path.at(-1) === "image" || path.at(-1) === "video" || (path.at(-2) === "images" && path.at(-1) === 0);

/** How the answer of a call is read. */
export interface Reading<T> {
  /** The field names in which files may be, as Base64. */
  isFileAt: (path: JsonPath) => boolean;
  /** Of an answer that is a file itself. */
  file: (output: Output) => T;
  answer: (value: unknown, outputOf: (text: string) => Promise<Output>) => Promise<T | Failed>;
}

/** Reads the image or video of a result; `outputOf` opens Base64 content. Throws if the result has neither: something may have been generated and billed nevertheless. */
async function parseMade(value: unknown, outputOf: (text: string) => Promise<Output>): Promise<Made | Failed> {
  const result = parseResult(value);
  if ("failed" in result) return result.failed;
  const { fields } = result;
  const task = isFields(fields["task"]) ? fields["task"] : {};
  const failed = findFailure(fields);
  if (failed) return failed;
  const content = isFields(task["content"]) ? task["content"] : {};
  const [first] = Array.isArray(fields["images"]) ? (fields["images"] as unknown[]) : [];
  const text = [fields["image"], fields["video"], first, content["url"]].find((one) => typeof one === "string" && one !== "");
  if (typeof text !== "string") throw new ProviderError("unclear", "run: the answer has no image or video");
  if (/^https?:\/\//.test(text)) return { url: text };
  return { output: await outputOf(text) };
}

/** The failure that a maker's own answer states. */
function findFailure(fields: Fields): Failed | undefined {
  const task = isFields(fields["task"]) ? fields["task"] : {};
  const hasFailed = fields["status"] === "Fail" || task["status"] === "failed" || task["status"] === "cancelled";
  return hasFailed ? toFailed(isFields(task["error"]) ? task["error"] : {}) : undefined;
}

/** Reads the image or video of a call. */
export const madeReading: Reading<Made> = { isFileAt, file: (output) => ({ output }), answer: parseMade };

/** The fields of an answer to an own input, and the files that are stored already by the texts that stand for them. */
export interface OwnFields {
  fields: Fields;
  kept: Map<string, Output>;
}

const isOwnFileAt = (path: JsonPath) => isFileAt(path) || path.at(-1) === "audio";

/** Reads all of an answer. */
export const ownReading: Reading<OwnFields> = {
  isFileAt: isOwnFileAt,
  file: (output) => ({ fields: { file: "kept" }, kept: new Map([["kept", output]]) }),
  async answer(value, outputOf) {
    const result = parseResult(value);
    if ("failed" in result) return result.failed;
    const { fields } = result;
    const failed = findFailure(fields);
    if (failed) return failed;
    const kept = new Map<string, Output>();
    const find = async (item: unknown, path: (string | number)[]): Promise<void> => {
      if (typeof item === "string" && item !== "" && isOwnFileAt(path) && !/^(?:https?|data):/.test(item)) {
        const output = await outputOf(item).catch(notBase64);
        if (output) kept.set(item, output);
      } else if (isFields(item))
        for (const [name, one] of Object.entries(item)) await find(one, [...path, Array.isArray(item) ? Number(name) : name]);
    };
    await find(fields, []);
    return { fields, kept };
  },
};

function notBase64(error: unknown): undefined {
  if (!(error instanceof SyntaxError)) throw error;
}

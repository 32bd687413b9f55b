/** Google's error answers: verdicts on the request, faults of the operator's account, and retry times. */

import { toFault, readJson, laterFault, maxRetryAfterMs } from "../shared/http.ts";
import { badInput, unknownWork, blocked, type Failed, ProviderError } from "../provider.ts";

/** `google.rpc.Status` as JSON. In the Interactions API `code` is a word. */
interface Status {
  code?: number | string | null;
  message?: string | null;
  status?: string | null;
  details?: ({ "@type"?: string; reason?: string; retryDelay?: string } | null)[] | null;
}

/** A parsed error answer. */
export interface Refusal {
  /** True if the requested content was refused. */
  isModeration: boolean;
  /** True if the error is about an input image. */
  isImage: boolean;
  fault: ProviderError;
}

/** True if Google's text is about forbidden content. Its error codes do not show that. */
export const isAboutContent = (text: string) =>
  /usage guidelines|safety|sensitive|prohibited|responsible ai|content.?polic|blocked|violat/i.test(text);

/** True if Google's text is about an image. */
export const isAboutImage = (text: string) => /\bimages?\b/i.test(text);

/** Parses an error answer. `what` names the call in logs; the answer's text is never logged. */
export async function parseRefusal(response: Response, what: string): Promise<Refusal> {
  const body = await readJson<unknown>(response);
  // Google's front end sometimes puts the whole answer in an array.
  const { error } = ((Array.isArray(body) ? body[0] : body) ?? {}) as { error?: Status | null };
  const message = typeof error?.message === "string" ? error.message : "";
  const details = (Array.isArray(error?.details) ? error.details : []).filter((detail) => detail !== null);
  const retryInfo = details.find((detail) => String(detail["@type"]).endsWith("google.rpc.RetryInfo"));
  const words = [error?.status, error?.code, ...details.map(({ reason }) => reason)].filter((word) => typeof word === "string");
  // A wrong key is 400 INVALID_ARGUMENT, and only `reason` shows it. A forbidden region or plan is FAILED_PRECONDITION. Missing credit is
  // 429 without a retry time; a rate limit's 429 mentions billing too.
  const isAccount =
    words.some((word) => /^API_KEY_|FAILED_PRECONDITION/.test(word)) ||
    (response.status === 429 && !retryInfo && /billing|credit|prepay/i.test(message));
  const word = /^[A-Z_]{3,40}$/.exec(error?.status ?? "")?.[0];
  const plain = toFault(response, word ? `${what}: ${word}` : what);
  return {
    isModeration: response.status === 400 && (isAboutContent(message) || words.some(isAboutContent)),
    isImage: response.status === 400 && isAboutImage(message),
    fault: new ProviderError(isAccount ? "account" : plain.kind, plain.message, {
      retryAfterMs: plain.retryAfterMs ?? delayMs(retryInfo?.retryDelay),
    }),
  };
}

/** Returns the verdict of a refused submission; throws faults. `hasImages`: the caller sent some. */
export async function refusedStart(response: Response, hasImages: boolean): Promise<Failed> {
  const { fault, isModeration, isImage } = await parseRefusal(response, "start");
  if (fault.account) throw fault;
  if (isModeration) return blocked;
  if (isImage && hasImages) return badInput;
  throw fault;
}

/** Returns the verdict of a refused poll: work that the upstream no longer knows is lost. Throws if polling again may help. */
export async function refusedPoll(response: Response): Promise<Failed> {
  const { status } = response;
  const { fault } = await parseRefusal(response, "poll");
  if ((status === 400 || status === 404) && !fault.account) return unknownWork;
  throw laterFault(fault, true);
}

/** Converts `34s` or `0.5s` to milliseconds, at most `maxRetryAfterMs`; undefined if it is neither. */
function delayMs(text = ""): number | undefined {
  const ms = Math.ceil(Number.parseFloat(text) * 1000);
  return ms > 0 ? Math.min(ms, maxRetryAfterMs) : undefined;
}

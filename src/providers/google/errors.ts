/** Google's error answers: what they say about the request, the operator's account, and when to ask again. */

import { toFault, readJson, laterFault } from "../shared/http.ts";
import { type Failed, ProviderError } from "../provider.ts";

/** `google.rpc.Status` as JSON. The Interactions API writes words in `code`. */
interface Status {
  code?: number | string | null;
  message?: string | null;
  status?: string | null;
  details?: ({ "@type"?: string; reason?: string; retryDelay?: string } | null)[] | null;
}

/** An answer that is no success, taken apart. */
export interface Refusal {
  /** It is about the content that was asked for. */
  isModeration: boolean;
  /** It is about a picture that came along. */
  isPicture: boolean;
  fault: ProviderError;
}

/** Whether words of Google's speak of what may not be generated. Its error codes do not say so. */
export const isAboutContent = (text: string) =>
  /usage guidelines|safety|sensitive|prohibited|responsible ai|content.?polic|blocked|violat/i.test(text);

/** Reads an answer that is no success. `what` names the call in logs; nothing of the answer's text gets there. */
export async function parseRefusal(response: Response, what: string): Promise<Refusal> {
  const body = await readJson<unknown>(response);
  // Google's front end sometimes puts the whole answer in an array.
  const { error } = ((Array.isArray(body) ? body[0] : body) ?? {}) as { error?: Status | null };
  const message = typeof error?.message === "string" ? error.message : "";
  const details = (Array.isArray(error?.details) ? error.details : []).filter((detail) => detail !== null);
  const retryInfo = details.find((detail) => String(detail["@type"]).endsWith("google.rpc.RetryInfo"));
  const words = [error?.status, error?.code, ...details.map(({ reason }) => reason)].filter((word) => typeof word === "string");
  // A wrong key is 400 INVALID_ARGUMENT and only the reason says what it is. A region or plan that is not allowed is
  // FAILED_PRECONDITION, and money that ran out is 429 without a time to wait; the usual 429 speaks of billing too.
  const isAccount =
    words.some((word) => /^API_KEY_|FAILED_PRECONDITION/.test(word)) ||
    (response.status === 429 && !retryInfo && /billing|credit|prepay/i.test(message));
  const word = /^[A-Z_]{3,40}$/.exec(error?.status ?? "")?.[0];
  const plain = toFault(response, word ? `${what}: ${word}` : what);
  const { nothingAccepted } = plain;
  return {
    isModeration: response.status === 400 && (isAboutContent(message) || words.some(isAboutContent)),
    isPicture: response.status === 400 && /\bimages?\b/i.test(message),
    fault: new ProviderError(plain.message, {
      retryable: plain.retryable && !isAccount,
      nothingAccepted,
      account: plain.account || isAccount,
      retryAfterMs: plain.retryAfterMs ?? delayMs(retryInfo?.retryDelay),
    }),
  };
}

/** The verdict of a submission that was refused; throws when it is none. `hasPictures`: the caller sent some. */
export async function refusedStart(response: Response, hasPictures: boolean): Promise<Failed> {
  const { fault, isModeration, isPicture } = await parseRefusal(response, "start");
  if (fault.account) throw fault;
  if (isModeration) return { status: "failed", code: "content_policy_violation" };
  if (isPicture && hasPictures) return { status: "failed", code: "invalid_input" };
  throw fault;
}

/** The verdict of a poll that was refused: work that is not known any more is lost. Throws when asking again may help. */
export async function refusedPoll(response: Response): Promise<Failed> {
  const { status } = response;
  const { fault } = await parseRefusal(response, "poll");
  if ((status === 400 || status === 404) && !fault.account) return { status: "failed", code: "provider_error" };
  throw laterFault(fault, true);
}

/** `34s` or `0.5s` in milliseconds, when that is worth waiting. */
function delayMs(text: string | undefined): number | undefined {
  const match = /^(\d+(?:\.\d+)?)s$/.exec(text ?? "");
  const ms = match ? Math.ceil(Number(match[1]) * 1000) : 0;
  return ms > 0 && ms <= 60_000 ? ms : undefined;
}

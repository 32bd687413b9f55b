/** MiniMax's refusals: codes come in the `base_resp` of an HTTP 200 (v1) or at the end of an error's message (v2). */

import { laterFault, toFault } from "../shared/http.ts";
import { badInput, unknownWork, blocked, type Failed, ProviderError } from "../provider.ts";

/** The fields about a refusal in answers of both versions. All are optional. */
export interface Refusable {
  base_resp?: { status_code?: number | string | null; status_msg?: string | null } | null;
  error?: { code?: number | string | null; message?: string | null } | null;
}

/** The HTTP statuses that are equivalent to these codes (platform.minimax.io, "Error Codes"; 1028, 1030, 2061: MiniMax-AI/cli, `src/errors/api.ts`; 1013, 2064: seen in answers). */
const statuses: Record<string, number> = {
  "1000": 500, // unknown
  "1001": 504, // timeout
  "1002": 429, // rate limit
  "1004": 401, // not authorised
  "1008": 402, // insufficient balance
  "1013": 500, // internal
  "1024": 500, // internal
  "1028": 402, // the plan's quota is used up
  "1030": 402, // the same
  "1033": 500, // system
  "1039": 429, // tokens a minute
  "1041": 429, // connections
  "1042": 400, // invisible characters
  "2013": 400, // invalid parameters
  "2045": 429, // requests grow too fast
  "2049": 401, // invalid key
  "2056": 402, // the plan's allowance is used up
  "2061": 404, // the plan does not have the model
  "2064": 429, // overloaded
};

/** The input (1026) or the video (1027) was found sensitive. */
const sensitive = new Set(["1026", "1027"]);

/** Reads the code of a refusal; undefined if the answer is not a refusal. */
export function readCode({ base_resp: base, error }: Refusable): string | undefined {
  const places = [base?.status_code, error?.code, /\((\d+)\)\s*$/.exec(error?.message ?? "")?.[1]];
  return places.map((code) => String(code ?? "")).find((code) => /^[1-9]\d{3,}$/.test(code));
}

/** The sentence of a refusal, for what its code does not tell. */
const readSentence = ({ base_resp: base, error }: Refusable): string => base?.status_msg ?? error?.message ?? "";

export const isSensitive = (code: string | undefined) => code !== undefined && sensitive.has(code);

/** Converts an answer to a verdict or a fault; undefined if it is not a refusal. */
export function parseRefusal(
  step: string,
  response: Response,
  body: Refusable,
  { hasImages = false }: { hasImages?: boolean } = {},
): Failed | ProviderError | undefined {
  const code = readCode(body);
  if (response.ok && code === undefined && !body.error) return undefined;
  // v2 uses 422 only for sensitive content.
  if (isSensitive(code) || (code === undefined && response.status === 422)) return blocked;
  // One code is used for every invalid request: only the message distinguishes an invalid image of the caller from a model that was
  // removed.
  const sentence = readSentence(body);
  if (hasImages && code === "2013" && /image|frame/i.test(sentence)) return badInput;
  if (code === "2013" && /\bmodel\b/i.test(sentence)) return new ProviderError("model", `${step}: ${code}`);
  return toFault({ status: toStatus(response, code), headers: response.headers }, code === undefined ? step : `${step}: ${code}`);
}

/** Codes that begin with 2 are about the request or the account: nothing was accepted. */
function toStatus(response: Response, code: string | undefined): number {
  if (code === undefined) return response.status;
  return statuses[code] ?? (response.ok && code.startsWith("2") ? 422 : response.status);
}

/** The same for accepted work: if the upstream does not know it, it is lost; every other fault is retried. v2 has 500 and code 1000 for unknown work (answers recorded in September 2026). */
export function parseLaterRefusal(step: string, response: Response, body: Refusable): Failed | ProviderError | undefined {
  const refusal = parseRefusal(step, response, body);
  if (!(refusal instanceof ProviderError)) return refusal;
  if ([400, 404].includes(toStatus(response, readCode(body))) || /record not found/i.test(readSentence(body))) return unknownWork;
  return laterFault(refusal, true);
}

/** Shared by the callbacks of all makers: bounded bodies, timestamps, and signing keys that are cached for a while. */

import { parseJson } from "../../media/json-limits.ts";
import { boundedBody } from "../../net/bounded-body.ts";
import { type CallbackVerdict, ProviderError } from "../provider.ts";
import { readJson, toFault } from "./http.ts";

/** Replicate repeats a prediction's input in its callback. A larger body is ignored: the next poll reads the result. */
const maxBytes = 4 * 1024 * 1024;
/** The maximum age of a signature, as in the providers' own clients. */
const toleranceSeconds = 300;
const keepMs = 600_000;

/** The text of a callback, bounded in bytes. Throws `NetError`. */
export const readText = ({ body }: Request): Promise<string> => new Response(body && boundedBody(body, { maxBytes })).text();

/**
 * Reads a callback of a maker that does not sign them. A challenge, which the maker sends to each URL first, is returned; a callback about
 * work that continues causes no poll.
 */
export async function readUnsigned(request: Request): Promise<CallbackVerdict> {
  const text = await readText(request);
  try {
    const { challenge, status } = parseJson(text) as { challenge?: unknown; status?: unknown };
    if (typeof challenge === "string") return { answer: { challenge } };
    return /^(queu|runn|prepar|process)/i.test(status as string) ? "early" : true;
  } catch {
    return true; // not JSON, or null, or too many values
  }
}

/** The headers with these names; empty unless the one named `timestamp` is a time in Unix seconds within five minutes of now. */
export function recentHeaders({ headers }: Request, prefix: string, ...names: string[]): string[] {
  const seconds = Number(headers.get(`${prefix}timestamp`) ?? Number.NaN);
  return Math.abs(Date.now() / 1000 - seconds) <= toleranceSeconds ? names.map((name) => headers.get(prefix + name) ?? "") : [];
}

const kept = new Map<string, { keys: unknown; at: number }>();

/** The keys that verify a maker's signatures, fetched every ten minutes; `read` returns them from the answer, undefined if it has none. Throws if they cannot be fetched. */
export async function fetchedKeys<K>(
  provider: string,
  fetchKeys: () => Promise<Response>,
  read: (answer: Record<string, unknown>) => K | undefined,
): Promise<K> {
  let known = kept.get(provider);
  if (!known || Date.now() - known.at > keepMs) {
    const response = await fetchKeys();
    if (!response.ok) throw toFault(response, "keys");
    const keys = read({ ...(await readJson<object>(response)) });
    if (keys === undefined) throw new ProviderError("unreachable", "keys: the answer has none");
    known = { keys, at: Date.now() };
    kept.set(provider, known);
  }
  return known.keys as K;
}

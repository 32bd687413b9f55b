/** Asks a maker about one of its models. */

import { ask, readJson, toFault } from "./http.ts";
import { type ListedModel, ProviderError } from "../provider.ts";

const timeoutMs = 10_000;

/** The model at this URL of a maker's list. `readEnd` finds the day of its end in the answer. Throws `ProviderError`. */
export async function lookUp(
  url: string,
  headers: Record<string, string>,
  readEnd: (entry: Record<string, unknown>) => unknown = () => undefined,
): Promise<ListedModel> {
  const response = await ask(globalThis, url, { headers, signal: AbortSignal.timeout(timeoutMs) });
  if (response.status === 404) {
    await response.body?.cancel();
    return { gone: true };
  }
  if (!response.ok) {
    await response.body?.cancel();
    throw toFault(response, "list of models");
  }
  const entry = await readJson<Record<string, unknown>>(response);
  if (typeof entry !== "object" || entry === null) throw new ProviderError("unclear", "list of models: not an answer");
  const end = readEnd(entry);
  return { gone: false, ...(typeof end === "string" && /^\d{4}-\d\d-\d\d$/.test(end) && { retires: end }) };
}

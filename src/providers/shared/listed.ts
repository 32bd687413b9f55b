/** Asks a maker about one of its models. */

import { ask, readJson, toFault } from "./http.ts";
import { type ListedModel, ProviderError } from "../provider.ts";

const timeoutMs = 10_000;

/** What an answer of a list says of a model: whether it lacks it, and the day of its end. */
interface Found {
  gone?: boolean;
  end?: unknown;
}

/** The model at this URL of a maker's list, as `read` finds it in the answer. Throws `ProviderError`. */
export async function lookUp(
  url: string,
  headers: Record<string, string>,
  read: (answer: object) => Found = () => ({}),
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
  const answer = await readJson<object>(response);
  if (typeof answer !== "object" || answer === null) throw new ProviderError("unclear", "list of models: the answer is not a JSON object");
  return toListed(read(answer));
}

/** `end` is a day, or a time that begins with one. */
export function toListed({ gone = false, end }: Found): ListedModel {
  const day = typeof end === "string" ? /^\d{4}-\d\d-\d\d(?=$|[T ])/.exec(end)?.[0] : undefined;
  return { gone, ...(day !== undefined && { retires: day }) };
}

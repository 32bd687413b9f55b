/**
 * Finds predictions that were accepted although the answer was lost: by the task's webhook, because Replicate accepts no idempotency keys,
 * and an equal input may be another caller's.
 */

import { ProviderError } from "../provider.ts";

/** A prediction (types of replicate 1.4.0), with all fields optional. */
export interface Prediction {
  id?: string | null;
  model?: string | null;
  status?: string | null;
  input?: unknown;
  output?: unknown;
  error?: unknown;
  created_at?: string | null;
  started_at?: string | null;
  /** Seconds of its machine. */
  metrics?: { predict_time?: number | null } | null;
  /** The URL that the prediction's start asked Replicate to call. Replicate's types have it, the examples of its documentation do not. */
  webhook?: string | null;
}

interface Page {
  results?: Prediction[] | null;
  next?: string | null;
}

/** The maximum difference between the two clocks. */
const slackMs = 5_000;
/** The maximum number of pages that are read; a page has 100 predictions. */
const maxPages = 5;

/**
 * Returns the ids of the predictions that an earlier start created, or undefined if it created none. `webhook` is the task's own URL, which
 * no other task has. Throws a permanent fault if it is uncertain: there are similar predictions, and Replicate does not say whose they are.
 */
export async function leftBy(
  asked: { model: string; input: object; n: number; askedAt: number; webhook: string | undefined },
  page: (cursor: string | undefined) => Promise<Page>,
): Promise<string[] | undefined> {
  const toFault = (why: string) => new ProviderError("unclear", `start: outcome unknown, ${why}`);
  const found: string[] = [];
  let unclear = 0;
  let cursor: string | undefined;
  for (let pages = 0; ; pages++) {
    if (pages === maxPages) throw toFault("too many predictions since");
    const { results, next } = await page(cursor);
    let isOlder = false;
    for (const { id, model, input, created_at, webhook } of results ?? []) {
      const createdAt = Date.parse(created_at ?? "");
      isOlder ||= createdAt < asked.askedAt - slackMs;
      if (createdAt < asked.askedAt - slackMs || (model ?? asked.model) !== asked.model) continue;
      if (asked.webhook === undefined || !webhook) unclear += isSimilar(asked.input, input) ? 1 : 0;
      else if (webhook === asked.webhook && id) found.push(id);
    }
    // Only the cursor is taken from the URL: an answer must not decide where the credentials are sent.
    cursor = next && URL.canParse(next) ? (new URL(next).searchParams.get("cursor") ?? undefined) : undefined;
    if (isOlder || cursor === undefined) break;
  }
  if (found.length === asked.n) return found;
  if (found.length === 0 && unclear === 0) return undefined;
  throw toFault(`${found.length} predictions of the task, ${asked.n} wanted, ${unclear} similar ones`);
}

/** False if the input is certainly another one. The upstream may have changed inline images, filled in defaults or removed the data. */
function isSimilar(sent: object, given: unknown): boolean {
  if (typeof given !== "object" || given === null || Object.keys(given).length === 0) return true;
  const theirs = given as Record<string, unknown>;
  return Object.entries(sent).every(([name, ours]) => {
    const isInline = [ours].flat().some((value) => typeof value === "string" && value.startsWith("data:"));
    return isInline ? theirs[name] !== undefined : JSON.stringify(ours) === JSON.stringify(theirs[name]);
  });
}

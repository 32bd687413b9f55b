/**
 * Finds predictions that were accepted although the answer was lost: by model, input and time, because Replicate accepts no idempotency
 * keys.
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
 * Returns the ids of the predictions that an earlier start created, or undefined if it created none. Throws a permanent fault if that is
 * uncertain: other tasks may have submitted the same input at the same time.
 */
export async function leftBy(
  asked: { model: string; input: object; n: number; askedAt: number },
  page: (cursor: string | undefined) => Promise<Page>,
): Promise<string[] | undefined> {
  const toFault = (why: string) => new ProviderError("unclear", `start: outcome unknown, ${why}`);
  const found: string[] = [];
  let alike = 0;
  let cursor: string | undefined;
  for (let pages = 0; ; pages++) {
    if (pages === maxPages) throw toFault("too many predictions since");
    const { results, next } = await page(cursor);
    let isOlder = false;
    for (const { id, model, input, created_at } of results ?? []) {
      const createdAt = Date.parse(created_at ?? "");
      isOlder ||= createdAt < asked.askedAt - slackMs;
      if (createdAt < asked.askedAt - slackMs || (model ?? asked.model) !== asked.model) continue;
      const likeness = compareInputs(asked.input, input);
      if (likeness === "same" && id && !Number.isNaN(createdAt)) found.push(id);
      if (likeness !== "other") alike++;
    }
    // Only the cursor is taken from the URL: an answer must not decide where the credentials are sent.
    cursor = next && URL.canParse(next) ? (new URL(next).searchParams.get("cursor") ?? undefined) : undefined;
    if (isOlder || cursor === undefined) break;
  }
  if (alike === 0) return undefined;
  if (found.length === asked.n && alike === asked.n) return found;
  throw toFault(`${found.length} of ${alike} similar predictions match, ${asked.n} wanted`);
}

/** "similar" if it is uncertain: the upstream may have changed inline images, filled in defaults or removed data. */
function compareInputs(sent: object, given: unknown): "same" | "similar" | "other" {
  if (typeof given !== "object" || given === null || Object.keys(given).length === 0) return "similar";
  const theirs = given as Record<string, unknown>;
  let isSame = Object.keys(theirs).length === Object.keys(sent).length;
  for (const [name, ours] of Object.entries(sent)) {
    if (JSON.stringify(ours) === JSON.stringify(theirs[name])) continue;
    const isInline = [ours].flat().some((value) => typeof value === "string" && value.startsWith("data:"));
    if (!isInline || theirs[name] === undefined) return "other";
    isSame = false;
  }
  return isSame ? "same" : "similar";
}

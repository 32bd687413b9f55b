/** `?limit=` and `?after=` of every list. */

import { invalid } from "../errors.ts";
import type { AppContext } from "./frame.ts";

/**
 * `limit` is 1 to 100 rows and defaults to 20; `after` is the id of the last row of the page before. `exists` looks that row up:
 * an id that is empty or unknown would otherwise look like the end of the list. Throws 400.
 */
export async function readPage(
  c: AppContext,
  exists: (after: string) => Promise<boolean>,
): Promise<{ limit: number; after: string | undefined }> {
  const text = c.req.query("limit") ?? "20";
  const limit = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > 100) throw invalid("limit", "not_one_of", { allowed: "1-100" }, { minimum: 1, maximum: 100 });
  const after = c.req.query("after");
  if (after !== undefined && (after === "" || !(await exists(after)))) throw invalid("after", "unknown_row");
  return { limit, after };
}

/** One of these words, or undefined without the parameter. */
export function readChoice<T extends string>(c: AppContext, name: string, allowed: readonly T[]): T | undefined {
  const text = c.req.query(name);
  if (text === undefined) return undefined;
  const found = allowed.find((word) => word === text);
  if (!found) throw invalid(name, "not_one_of", { allowed: allowed.join(", ") }, allowed);
  return found;
}

export const toList = <T>(data: T[], hasMore: boolean) => ({ object: "list", data, has_more: hasMore });

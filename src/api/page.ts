/** `?limit=` and `?after=` of every list, and the list's answer. */

import { invalid } from "../errors.ts";

/** Refuses an `after` without a row in the list, which would otherwise look like the end of the list. `find` returns something truthy if the row exists. Throws 400. */
export async function requireRow(after: string | undefined, find: (after: string) => Promise<unknown>): Promise<void> {
  if (after !== undefined && (after === "" || !(await find(after)))) throw invalid("after", "unknown_row");
}

export const toList = <T>(data: T[], hasMore: boolean) => ({ object: "list", data, has_more: hasMore });

/** The limits of lists and records in a body, checked before a schema looks at their elements. Pure. */

import { beyondLimit, toParam, type Violation } from "../base/errors.ts";
import { maxListLength } from "../media/json-scanner.ts";

/** The limit of a list; that of `tools` differs from the general one (contract, section 1). */
const maxLength = ([field, ...rest]: readonly PropertyKey[]): number => (field === "tools" && rest.length === 0 ? 512 : maxListLength);
const maxRecordSize = 1_024;
/** The elements of all lists together, because lists within lists would otherwise multiply. */
const maxElements = 8_192;
/** The depth that schemas check: `messages[0].content[0]`. Deeper values are passed on as the caller wrote them. */
const maxLevels = 4;

/**
 * Finds the first list or record that is too large. The search stops there, because it may have hundreds of thousands of
 * elements, and one error for each would be many times as large as the body.
 */
export function findOversized(body: object): Violation | undefined {
  const path: PropertyKey[] = [];
  let elements = 0;
  const visit = (value: unknown): Violation | undefined => {
    if (typeof value !== "object" || value === null) return undefined;
    const level = path.length;
    const isList = Array.isArray(value);
    const size = isList ? value.length : Object.keys(value).length;
    const maximum = isList ? maxLength(path) : maxRecordSize;
    if (level > 0 && size > maximum && (isList || level < maxLevels)) return tooBig(path, isList, maximum);
    if (isList && (elements += size) > maxElements) return tooBig(path, true, Math.max(0, maxElements - elements + size));
    if (level === maxLevels) return undefined;
    for (const [name, item] of isList ? value.entries() : Object.entries(value)) {
      path.push(name);
      const found = visit(item);
      if (found) return found;
      path.pop();
    }
    return undefined;
  };
  return visit(body);
}

/** The violation of a list that is so long that its body was not parsed; undefined for one inside the caller's own values. */
export const toOversized = (path: readonly PropertyKey[]): Violation | undefined =>
  path.length > maxLevels ? undefined : tooBig(path, true, maxLength(path));

const tooBig = (path: readonly PropertyKey[], isList: boolean, maximum: number): Violation =>
  beyondLimit(toParam(path), isList ? "too_big_list" : "too_big_record", { maximum });

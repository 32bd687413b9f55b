/** The limits of lists and records in a body, checked before a schema looks at their elements. Pure. */

import type { Violation } from "../base/errors.ts";
import { maxListLength } from "../media/json-scanner.ts";

/** Fields of a body whose limit differs from the general one (contract, section 1). */
const listLimits: Record<string, number> = { tools: 512 };
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
  let elements = 0;
  const visit = (value: unknown, param: string, level: number): Violation | undefined => {
    if (typeof value !== "object" || value === null) return undefined;
    const isList = Array.isArray(value);
    const size = isList ? value.length : Object.keys(value).length;
    const maximum = isList ? (listLimits[param] ?? maxListLength) : maxRecordSize;
    if (level > 0 && size > maximum && (isList || level < maxLevels)) return tooBig(param, isList, maximum);
    if (isList && (elements += size) > maxElements) return tooBig(param, true, Math.max(0, maxElements - elements + size));
    if (level === maxLevels) return undefined;
    for (const [name, item] of isList ? value.entries() : Object.entries(value)) {
      const found = visit(item, isList ? `${param}[${name}]` : param ? `${param}.${name}` : String(name), level + 1);
      if (found) return found;
    }
    return undefined;
  };
  return visit(body, "", 0);
}

/** The violation of a list that is so long that its body was not parsed; undefined for one inside the caller's own values. */
export function toOversized(path: readonly (string | number)[]): Violation | undefined {
  const param = path
    .map((name) => (typeof name === "number" ? `[${name}]` : `.${name}`))
    .join("")
    .slice(1);
  return path.length > maxLevels ? undefined : tooBig(param, true, listLimits[param] ?? maxListLength);
}

const tooBig = (param: string, isList: boolean, maximum: number): Violation => ({
  param,
  rule: isList ? "too_big_list" : "too_big_record",
  values: { maximum },
  allowed: { maximum },
});

/** How long lists and how large records in a body may be, found before a schema looks at each of their elements. Pure. */

import type { Violation } from "../errors.ts";

/** Fields of a body whose limit is not the general one (contract, section 1). */
const listLimits: Record<string, number> = { tools: 512 };
const maxListLength = 2_048;
const maxRecordSize = 1_024;
/** Elements of all lists together: lists within a list would otherwise multiply. */
const maxElements = 8_192;
/** As deep as schemas look: `messages[0].content[0]`. What lies deeper is passed on as the caller wrote it. */
const maxLevels = 4;

/**
 * The lists and records of a body that are too large: their elements need not be looked at. Stops at the first that is, for it may hold
 * hundreds of thousands of elements, and an error for each would be many times as large as the body.
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

const tooBig = (param: string, isList: boolean, maximum: number): Violation => ({
  param,
  rule: isList ? "too_big_list" : "too_big_record",
  values: { maximum },
  allowed: { maximum },
});

/** How an alert begins and ends, and which change is still to be reported. Pure. */

import type { Alert } from "../db/alerts.ts";

export type Change = "began" | "ended";

const maxCauses = 10;

/** The alert after a check that found these causes; undefined if nothing changes. */
export function afterCheck(name: string, known: Alert | undefined, found: string[], now: number): Alert | undefined {
  const causes = found.slice(0, maxCauses);
  if (causes.length === 0) return known && known.endedAt === null ? { ...known, endedAt: now } : undefined;
  if (!known || (known.endedAt !== null && known.told === "ended")) return { name, beganAt: now, endedAt: null, causes, told: null };
  // It began again before its end was delivered: for receivers it never ended.
  if (known.endedAt !== null || known.causes.join() !== causes.join()) return { ...known, endedAt: null, causes };
  return undefined;
}

/** The next change to report to the receivers; undefined if all are reported. */
export function undelivered({ told, endedAt }: Alert): Change | undefined {
  if (told === null) return "began";
  return told === "began" && endedAt !== null ? "ended" : undefined;
}

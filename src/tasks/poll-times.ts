/** Computes the delay to the next poll of accepted work from the typical duration, the deadline and the next route. Pure. */

import { type Hedging, nextRoute, silenceMs } from "./hedge.ts";
import type { Submission, Task } from "./record.ts";

/** The shortest interval of scheduled polls. */
const minPollMs: Record<Submission["kind"], number> = { image: 2_000, character: 3_000, video: 5_000, remix: 5_000 };
const maxPollMs = 30_000;
/**
 * For providers with callbacks: the minimum time between the typical duration and the first poll, and the minimum interval of later polls.
 */
const netMs = 10_000;

/**
 * Milliseconds until the next poll; `toldMs` is the interval that the upstream requested. Without callbacks: half of what remains of the
 * typical duration, and after it a quarter of the time beyond it. With callbacks polls are only a fallback: one after 125 % of the typical
 * duration, then rarely. At most half of the time until the deadline, so that a finished result is found in time to be stored. If another
 * route may take over: at most the time for which a provider may be silent, and not later than the time at which the current route counts
 * as slow.
 */
export function pollDelayMs(task: Task, hedging: Hedging, callsBack: boolean, toldMs: number | undefined, now: number): number {
  const { kind, typicalSeconds } = task.submission;
  if (toldMs !== undefined && !callsBack) return toldMs;
  const usualMs = 1000 * typicalSeconds;
  const leftMs = usualMs - (now - (task.askedAt ?? task.createdAt));
  const untilNetMs = leftMs + Math.max(netMs, usualMs / 4);
  const wantedMs = callsBack
    ? Math.max(netMs, untilNetMs > netMs ? untilNetMs : -leftMs / 2)
    : Math.min(maxPollMs, Math.max(leftMs / 2, -leftMs / 4));
  const mayHedge = hedging !== "off" && nextRoute(task) !== undefined;
  const slowInMs = hedging === "slow" && leftMs + usualMs >= 0 ? leftMs + usualMs + 1 : Infinity;
  const delayMs = Math.min(wantedMs, (task.deadline - now) / 2, mayHedge ? Math.min(silenceMs, slowInMs) : Infinity);
  return Math.round(Math.max(delayMs, minPollMs[kind]));
}

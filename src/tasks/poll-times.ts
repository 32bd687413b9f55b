/** When accepted work is polled next: by what is left of the usual time, and in time for the deadline and the next route. Pure. */

import { type Hedging, nextRoute, silenceMs } from "./hedge.ts";
import type { Submission, Task } from "./record.ts";

/** The shortest interval of scheduled polls. */
const minPollMs: Record<Submission["kind"], number> = { image: 2_000, character: 3_000, video: 5_000, remix: 5_000 };
const maxPollMs = 30_000;
/** With callbacks: how much later than usual the first poll is at least, and the shortest interval of those after it. */
const netMs = 10_000;

/**
 * Milliseconds until the next poll; `toldMs` is the upstream's own word. Without callbacks, half of what is left of the usual time, and past
 * that a quarter of the time over it. With callbacks polls are the net: one when a quarter more than the usual time is over, and rarely after
 * that. At most half of the time until the deadline, so that finished work is found in time to be stored; and where another route may
 * take over, at most as long as a provider may be silent, and not past the time at which it counts as slow.
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

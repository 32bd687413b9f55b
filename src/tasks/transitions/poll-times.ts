/** Computes the delay to the next poll of accepted work from the run times of recent tasks, the deadline and the next route. Pure. */

import type { Hedging } from "../../base/hedging.ts";
import { nextRoute, silenceMs } from "./hedge.ts";
import type { Submission, Task } from "../record.ts";

/** The shortest interval of scheduled polls if the run times of recent tasks are not known or vary too much. */
const minPollMs: Record<Submission["kind"], number> = { image: 2_000, character: 3_000, video: 5_000, remix: 5_000, file: 5_000 };
const maxPollMs = 30_000;
/** The shortest interval between the first and the last usual end. */
const closePollMs = 1_500;
/** Work whose first usual end is later than this is also polled before it, to report its progress and an early failure. */
const minEarlyMs = 60_000;
/** The longest interval of these polls, unless another route may take over from a silent provider. */
const usualEarlyMs = 90_000;
/**
 * For providers with callbacks: the minimum time between the typical duration and the first poll, and the minimum interval of later polls.
 */
const netMs = 10_000;

/**
 * Milliseconds until the next poll; `requestedMs` is the interval that the upstream requested. Without callbacks: close together from the first
 * usual end to the last one, and rarely before (`closePolls`); if that is not possible, half of what remains of the typical duration, and after
 * it a quarter of the time beyond it. With callbacks polls are only a fallback: one after 125 % of the typical duration, then rarely. At most
 * half of the time until the deadline, so that a finished result is found in time to be stored. If another route may take over: at most the time
 * for which a provider may be silent, and not later than the time at which the current route counts as slow.
 */
export function pollDelayMs(task: Task, hedging: Hedging, callsBack: boolean, requestedMs: number | undefined, now: number): number {
  const { kind, typicalSeconds } = task.submission;
  if (requestedMs !== undefined && !callsBack) return requestedMs;
  const usualMs = 1000 * typicalSeconds;
  const runningMs = now - (task.askedAt ?? task.createdAt);
  const mayHedge = hedging !== "off" && nextRoute(task) !== undefined;
  const close = callsBack ? undefined : closePolls(task.submission, mayHedge ? silenceMs : usualEarlyMs);
  const wantedMs = callsBack
    ? fallbackDelayMs(usualMs, runningMs)
    : close
      ? closeDelayMs(close, runningMs)
      : halvingDelayMs(usualMs, runningMs);
  const slowInMs = hedging === "slow" && runningMs <= 2 * usualMs ? 2 * usualMs - runningMs + 1 : Infinity;
  const delayMs = Math.min(wantedMs, (task.deadline - now) / 2, mayHedge ? Math.min(silenceMs, slowInMs) : Infinity);
  return Math.round(Math.max(delayMs, close ? closePollMs : minPollMs[kind]));
}

function fallbackDelayMs(usualMs: number, runningMs: number): number {
  const untilNetMs = usualMs - runningMs + Math.max(netMs, usualMs / 4);
  return Math.max(netMs, untilNetMs > netMs ? untilNetMs : (runningMs - usualMs) / 2);
}

const halvingDelayMs = (usualMs: number, runningMs: number) =>
  Math.min(maxPollMs, Math.max((usualMs - runningMs) / 2, (runningMs - usualMs) / 4));

/** The number of polls by `halvingDelayMs` until the typical duration has passed. */
function countHalving(kind: Submission["kind"], usualMs: number): number {
  let polls = 0;
  for (let atMs = 0; atMs < usualMs; polls++) atMs += Math.max(minPollMs[kind], halvingDelayMs(usualMs, atMs));
  return polls;
}

/** Milliseconds since the start. */
interface ClosePolls {
  /** The first of the close polls. */
  fromMs: number;
  intervalMs: number;
  /** The last usual end. */
  lastMs: number;
  /** The interval of the polls before `fromMs`. */
  earlyMs: number;
}

/**
 * Close polls around the usual ends that need as many polls as halving does: the fewer are spent before the first usual end, the closer the others
 * are. undefined if the run times are not known, or vary so much that the polls would be further apart than with halving.
 */
function closePolls({ kind, typicalSeconds, runSeconds }: Submission, maxEarlyMs: number): ClosePolls | undefined {
  if (!runSeconds) return undefined;
  const [firstMs, meanMs, lastMs] = [1000 * runSeconds.first, 1000 * runSeconds.mean, 1000 * runSeconds.last];
  const parts = firstMs > minEarlyMs ? Math.max(2, Math.ceil(firstMs / maxEarlyMs)) : 1;
  // One close poll is before the first usual end, so that a shorter run is noticed and learned. The polls at the ends of the interval count as well.
  const polls = countHalving(kind, 1000 * typicalSeconds) - (parts - 1) - 2.3;
  const intervalMs = Math.max(closePollMs, (meanMs - firstMs) / polls);
  if (polls < 1 || intervalMs > minPollMs[kind]) return undefined;
  const fromMs = Math.max(closePollMs, firstMs - intervalMs);
  return { fromMs, intervalMs, lastMs, earlyMs: Math.ceil(fromMs / parts) };
}

const closeDelayMs = ({ fromMs, intervalMs, lastMs, earlyMs }: ClosePolls, runningMs: number) =>
  runningMs < fromMs
    ? Math.min(earlyMs - (runningMs % earlyMs), fromMs - runningMs)
    : Math.min(maxPollMs, Math.max(intervalMs, (runningMs - lastMs) / 4));

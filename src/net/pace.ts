/** Requires a minimum transfer rate and a deadline for a body, measured by the sender's pace, not by how busy this machine is. */

import { NetError } from "./net-error.ts";

interface PaceLimits {
  /** The time before the minimum rate applies. */
  graceMs: number;
  bytesPerSecond: number;
  /** The longest time spent waiting for the whole body. */
  deadlineMs: number;
}

/** The requirement for callers: 64 KB a second after the first 5 seconds. */
const callersPace: PaceLimits = { graceMs: 5_000, bytesPerSecond: 64 * 1024, deadlineMs: 120_000 };

/** Waits for one read of the body; rejects with `NetError` `timeout` if the sender is too slow. */
type PacedRead = <T extends Uint8Array | undefined>(read: Promise<T>) => Promise<T>;

/** Measures the reads of one body, of a caller unless there are other limits. Only the time spent waiting for the sender counts, not the time between reads. */
export function pace(limits = callersPace): PacedRead {
  let waitedMs = 0;
  let bytes = 0;
  return async (read) => {
    const chunk = await awaitInTicks(paceTimeMs(bytes, limits) - waitedMs, read, (ms) => (waitedMs += ms));
    bytes += chunk?.byteLength ?? 0;
    return chunk;
  };
}

/** The maximum time for a body of this many bytes, in milliseconds. */
export const paceTimeMs = (bytes: number, { graceMs, bytesPerSecond, deadlineMs } = callersPace) =>
  Math.min(deadlineMs, graceMs + (1000 * bytes) / bytesPerSecond);

/** Resolves like the promise of a body. Rejects with `NetError` `timeout` if its sender takes longer. */
export const within = <T>(ms: number, promise: Promise<T>): Promise<T> => awaitInTicks(ms, promise, () => undefined);

const tickMs = 250;

/**
 * Counts the wait in ticks of a timer instead of by the clock: on a busy machine a tick comes late and still counts as one, and before the
 * next one the runtime has taken in what has arrived. A wait shorter than a tick counts nothing.
 */
async function awaitInTicks<T>(ms: number, promise: Promise<T>, count: (ms: number) => void): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  let timer: ReturnType<typeof setTimeout>;
  const wait = (leftMs: number) => {
    const stepMs = Math.min(tickMs, leftMs);
    timer = setTimeout(() => {
      count(stepMs);
      if (leftMs > stepMs) wait(leftMs - stepMs);
      // One more turn of the event loop, for bytes that arrived while this timer was due.
      else timer = setTimeout(() => reject(new NetError("timeout")), 0);
    }, stepMs);
  };
  wait(Math.max(0, ms));
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer!);
  }
}

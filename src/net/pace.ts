/** Requires a minimum transfer rate and a deadline for a body, so that a slow sender cannot hold a permit that others wait for. */

import { NetError } from "./net-error.ts";

export interface PaceLimits {
  /** The time before the minimum rate applies. */
  graceMs: number;
  bytesPerSecond: number;
  /** The time limit for the whole body, from the first read. */
  deadlineMs: number;
}

/** The requirement for callers: 64 KB a second after the first 5 seconds. */
export const callersPace: PaceLimits = { graceMs: 5_000, bytesPerSecond: 64 * 1024, deadlineMs: 120_000 };

/** Waits for one read of the body; rejects with `NetError` `timeout` if the sender is too slow. */
export type PacedRead = <T extends Uint8Array | undefined>(read: Promise<T>) => Promise<T>;

/** Measures the reads of one body. Only the time spent waiting for the sender counts against its rate, not the time between reads. */
export function pace({ graceMs, bytesPerSecond, deadlineMs }: PaceLimits): PacedRead {
  let began: number | undefined;
  let waitedMs = 0;
  let bytes = 0;
  return async (read) => {
    const start = Date.now();
    began ??= start;
    const leftMs = Math.min(graceMs + (1000 * bytes) / bytesPerSecond - waitedMs, began + deadlineMs - start);
    const chunk = await within(leftMs, read);
    waitedMs += Date.now() - start;
    bytes += chunk?.byteLength ?? 0;
    return chunk;
  };
}

/** The maximum time for a body of this many bytes, in milliseconds. */
export const paceTimeMs = (bytes: number, { graceMs, bytesPerSecond, deadlineMs } = callersPace) =>
  Math.min(deadlineMs, graceMs + (1000 * bytes) / bytesPerSecond);

/** Resolves like the promise. Rejects with `NetError` `timeout` if that takes longer. */
export async function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new NetError("timeout")), Math.max(0, ms));
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

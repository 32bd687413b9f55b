/** Holds the sender of a body to a minimum rate and a deadline, so that a slow one cannot keep what others wait for. */

import { NetError } from "./net-error.ts";

export interface PaceLimits {
  /** Time that a sender has before its rate counts. */
  graceMs: number;
  bytesPerSecond: number;
  /** For the whole body, from the first read on. */
  deadlineMs: number;
}

/** What callers have to keep up with: 64 KB a second after the first 5 seconds. */
export const callersPace: PaceLimits = { graceMs: 5_000, bytesPerSecond: 64 * 1024, deadlineMs: 120_000 };

/** Waits for one read of the body, and rejects with `NetError` `timeout` when the sender falls behind. */
export type PacedRead = <T extends Uint8Array | undefined>(read: Promise<T>) => Promise<T>;

/** A watch over the reads of one body. Only the time in which we wait for the sender counts against its rate, not what we do in between. */
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

/** The time that a body of so many bytes may take, in milliseconds. */
export const paceTimeMs = (bytes: number, { graceMs, bytesPerSecond, deadlineMs } = callersPace) =>
  Math.min(deadlineMs, graceMs + (1000 * bytes) / bytesPerSecond);

/** What the promise resolves with. Rejects with `NetError` `timeout` when that takes longer. */
export async function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new NetError("timeout")), Math.max(0, ms));
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Waits for something with a time limit. */

/** Resolves like the promise, or to `late` after `ms`. What the promise stands for is not stopped. */
export async function limitWait<T, Late>(ms: number, promise: Promise<T>, late: Late): Promise<T | Late> {
  const ended = new AbortController();
  try {
    return await Promise.race([promise, scheduler.wait(Math.max(0, ms), { signal: ended.signal }).then(() => late)]);
  } finally {
    ended.abort();
  }
}

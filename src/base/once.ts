/** Values that are computed when they are first used: building all schemas at start-up would be most of the gateway's start-up time. */

/** Computes the value at the first call, and returns it at each call. */
export function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

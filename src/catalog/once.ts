/** Values that are made when they are first needed: schemas built at start-up would be most of the gateway's start-up time. */

/** The same value at each call. */
export function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

/** Limits how deep JSON from callers may be nested. */

/** Low enough for recursive functions that read the value. */
export const maxDepth = 64;

/** Whether a value has more levels than this. Goes no deeper, because deep nesting would break recursion. */
export const isDeeperThan = (value: unknown, levels: number): boolean =>
  typeof value === "object" && value !== null && (levels === 0 || Object.values(value).some((item) => isDeeperThan(item, levels - 1)));

/** Limits how deep JSON from callers may be nested. */

/** Low enough for recursive functions that read the value. */
export const maxDepth = 64;

/** Whether a value has more levels than this. Works level by level, because deep nesting would break recursion. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  const isNested = (item: unknown): item is object => typeof item === "object" && item !== null;
  let level = [value].filter(isNested);
  for (let depth = 0; level.length > 0; depth++) {
    if (depth === levels) return true;
    level = level.flatMap((item): unknown[] => Object.values(item)).filter(isNested);
  }
  return false;
}

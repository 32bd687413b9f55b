/** How deep JSON from outside may be nested. */

/** What works on it may recurse. */
export const maxDepth = 64;

/** Whether there are more levels in a value. Level by level, for recursion is what deep nesting breaks. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  const isNested = (item: unknown): item is object => typeof item === "object" && item !== null;
  let level = [value].filter(isNested);
  for (let depth = 0; level.length > 0; depth++) {
    if (depth === levels) return true;
    level = level.flatMap((item): unknown[] => Object.values(item)).filter(isNested);
  }
  return false;
}

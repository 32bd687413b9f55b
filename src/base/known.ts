/** Look-ups in maps that must succeed. */

/** The value of a key that must exist in the map. Throws if it does not. */
export function known<K, V>(map: ReadonlyMap<K, V>, key: K): V {
  const value = map.get(key);
  if (value === undefined) throw new Error(`the map has no ${String(key)}`);
  return value;
}

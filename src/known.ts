/** Look-ups in maps that must succeed. */

/** The value of a key that the map has. Throws when it has not. */
export function known<K, V>(map: ReadonlyMap<K, V>, key: K): V {
  const value = map.get(key);
  if (value === undefined) throw new Error(`the map has no ${String(key)}`);
  return value;
}

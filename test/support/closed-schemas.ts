/** The closed form of the API description, which the tests compare answers and examples with. */

/**
 * A copy of a description whose objects are closed where they have `properties` and do not say that they are open. Callers must accept new
 * fields; a field that the tests see must be described.
 */
export function closed<T>(value: T): T {
  if (Array.isArray(value)) return value.map(closed) as T;
  if (typeof value !== "object" || value === null) return value;
  const copy = Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, name === "example" || name === "examples" ? item : closed(item)]),
  );
  const isObject = copy["type"] === "object" && "properties" in copy && !("additionalProperties" in copy);
  return (isObject ? { ...copy, additionalProperties: false } : copy) as T;
}

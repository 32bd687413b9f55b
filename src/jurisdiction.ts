/** Restricts all objects to the jurisdiction in JURISDICTION ("eu"): they run and store only there. */

/** The namespaces of objects, of all Workers. */
const namespaces = ["TASKS", "CLAIMS", "WALLETS", "TOKENS", "BATCHES", "ATTEMPTS"];
const placed = new WeakMap<object, object>();

/** The bindings, with namespaces that create and find only objects of the jurisdiction. Without JURISDICTION they are unchanged. */
export function inJurisdiction<E extends { JURISDICTION?: string }>(env: E): E {
  const { JURISDICTION } = env;
  if (!JURISDICTION) return env;
  let found = placed.get(env);
  if (!found) {
    placed.set(env, (found = { ...env }));
    const bindings = found as Record<string, DurableObjectNamespace>;
    for (const name of namespaces)
      if (bindings[name]) bindings[name] = bindings[name].jurisdiction(JURISDICTION as DurableObjectJurisdiction);
  }
  return found as E;
}

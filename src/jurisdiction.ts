/** Where objects run and store: with JURISDICTION ("eu") only there. */

/** The namespaces of objects, of all Workers. */
const namespaces = ["TASKS", "CLAIMS", "WALLETS", "HOLDS", "TOKENS", "ATTEMPTS"];
const placed = new WeakMap<object, object>();

/** The bindings, where each namespace makes and finds objects of the jurisdiction alone. Without JURISDICTION they are as they came. */
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

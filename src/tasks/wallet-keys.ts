/** The revision of an account's keys, which its wallet object keeps so that a reader of a replica can detect that the replica lags. */

import { readKeysRevision } from "../db/key-changes.ts";

/** Notes that the account's keys are about to change; returns the revision that the change stores in D1. */
export function announceKeys({ kv }: DurableObjectStorage): number {
  const revision = Math.max(Date.now(), (kv.get<number>("keys") ?? 0) + 1);
  kv.put("keys", revision);
  return revision;
}

/** The revision of the last announced change of the account's keys: a replica's row with a lower one is out of date. Throws if D1 has to be queried, at the first call, and does not answer. */
export async function keysRevision({ kv }: DurableObjectStorage, db: Env["DB"], accountId: string): Promise<number> {
  if (kv.get("keys") === undefined) {
    const stored = await readKeysRevision(db, accountId);
    // A change may have been announced meanwhile.
    if (kv.get("keys") === undefined) kv.put("keys", stored);
  }
  return kv.get<number>("keys")!;
}

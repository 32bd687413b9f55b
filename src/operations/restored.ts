/**
 * Accounts whose database was restored to before their last change: lists what they lost, and makes it again or accepts the restored state.
 * Until then their keys are refused. Erasures are always made again.
 */

import { listChanges } from "../storage/change-log.ts";
import { repeatStatements, validChanges, changeKeys, type AccountChange } from "../db/account-changes.ts";
import { type Actor, auditRow } from "../db/audit-log.ts";
import { endSessions } from "../db/erasure.ts";
import { erase } from "./erase.ts";
import type { Objects } from "../rpc/objects.ts";
import type { RestoredAccount, RestoredDecision } from "../rpc/operations.ts";

type Bindings = Pick<OperationsBindings, "DB" | "ASSETS">;

/** The lost changes of one account, and what was done about them; undefined if nothing is lost. Throws if a storage or an object does not answer; may be repeated. */
export async function settleRestored(
  env: Bindings,
  objects: Objects,
  accountId: string,
  decision: RestoredDecision | undefined,
  by: Actor = { kind: "operator", id: null, address: null },
): Promise<RestoredAccount | undefined> {
  const restoredTo = await objects.restoredTo(accountId);
  if (restoredTo === null) return undefined;
  const changes = validChanges(await listChanges(env.ASSETS, accountId, restoredTo));
  const isErased = changes.some(({ act }) => act === "erased");
  const done = isErased ? "replay" : decision;
  if (isErased) await erase(env, objects, accountId);
  else if (done === "replay") await repeatChanges(env, objects, accountId, changes);
  if (done) {
    // D1 gets a revision above that of every lost change, so that no replica with them is mistaken for newer.
    const given: AccountChange | undefined = done === "accept" ? { act: "accepted", restoredTo } : undefined;
    const act = done === "accept" ? "restore_accepted" : "restore_replayed";
    // The log of an erased account is empty.
    const logged = isErased ? [] : [auditRow(env.DB, accountId, by, { act, target: accountId, after: { changes: changes.length } })];
    await changeKeys(env.DB, objects, accountId, logged, given);
    await objects.decideRestored(accountId);
  }
  return { account: accountId, state: done === "replay" ? "replayed" : done ? "accepted" : "refused", changes: changes.map(describe) };
}

/** D1 ends a call after 30 seconds. */
const maxStatements = 1_000;

/** Makes the changes again: those of D1, in their order, then quotas and budgets by the wallet object, of which the last one counts. The account is refused until all are made, so a repeat after a crash begins with the first one. */
async function repeatChanges({ DB }: Bindings, objects: Objects, accountId: string, changes: AccountChange[]): Promise<void> {
  const statements = [...changes.flatMap((change) => repeatStatements(DB, accountId, change)), ...endSessions(DB, accountId)];
  while (statements.length > 0) await DB.batch(statements.splice(0, maxStatements));
  const limits = new Map<string, AccountChange>();
  for (const change of changes) if (change.act === "key_quota" || change.act === "budget") limits.set(`${change.act} ${change.id}`, change);
  for (const change of limits.values()) await objects.limitAgain(accountId, change);
}

/** What the operator sees of a change: no addresses, no secrets. */
const describe = (change: AccountChange) => ({ change: change.act, ...("id" in change && { id: change.id }) });

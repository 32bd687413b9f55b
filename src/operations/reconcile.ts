/** Reconciliation: settles held entries again, releases holds without a task, returns grants of lost storage, and makes again what a restored database lost: entries, and changes of accounts' access. */

import { nextAccounts } from "../db/accounts.ts";
import type { Actor } from "../db/audit-log.ts";
import { endAllSessions } from "../db/erasure.ts";
import type { WalletEntry } from "../wallet/book.ts";
import type { Objects } from "../rpc/objects.ts";
import type { Reconciliation, RestoredAccount, RestoredDecision } from "../rpc/operations.ts";
import { settleRestored } from "./restored.ts";

/** Which accounts to reconcile, and the decision about those that lost changes. */
export interface ReconcileOptions {
  account?: string | undefined;
  after?: string | undefined;
  restored?: RestoredDecision | undefined;
  /** Who decides; the previous release does not say it. */
  by?: Actor | undefined;
}

/** The number of accounts and open entries in one call. Each needs one or two calls to objects, and an invocation may make a thousand. */
const maxAccounts = 50;
const maxEntries = 200;

/**
 * Reconciles one account, or the accounts after `after` in the order of their ids, up to the limits of one call. Throws if an object or D1
 * does not answer; it may be repeated.
 */
export async function reconcile(
  env: Pick<OperationsBindings, "DB" | "ASSETS">,
  objects: Objects,
  { account, after, restored: decision, by }: ReconcileOptions,
): Promise<Reconciliation> {
  const db = env.DB;
  const restored: RestoredAccount[] = [];
  const done: Reconciliation = { accounts: 0, settled: 0, returned: 0, open: 0, restored, after: null };
  const [place = "", lastTask = ""] = (after ?? "").split(".");
  // An operator who makes lost changes again restored the database: sessions and links that had ended have come back too.
  if (decision === "replay" && account === undefined && after === undefined) await endAllSessions(db);
  const pending = account === undefined ? await accountsAfter(db, place, lastTask !== "") : [account];
  for (const accountId of pending) {
    const isContinued = accountId === place && lastTask !== "";
    // Writes the object's settled entries to D1 and, if the database was restored, the entries that it lost.
    if (!isContinued) {
      await objects.auditWallet(accountId);
      const lost = await settleRestored(env, objects, accountId, decision, by);
      if (lost) restored.push(lost);
    }
    const entries = (await openEntries(objects, accountId)).filter(({ taskId }) => !isContinued || taskId > lastTask);
    for (const entry of entries) {
      if (done.settled + done.returned + done.open >= maxEntries) return done;
      done[await reconcileEntry(objects, accountId, entry)]++;
      done.after = `${accountId}.${entry.taskId}`;
    }
    const { lost } = await objects.auditWallet(accountId);
    if (lost) done[(await objects.returnLost(accountId)) > 0 ? "returned" : "open"]++;
    done.accounts++;
    done.after = accountId;
  }
  return account === undefined && pending.length >= maxAccounts ? done : { ...done, after: null };
}

const accountsAfter = async (db: Env["DB"], place: string, isContinued: boolean): Promise<string[]> => [
  ...(isContinued ? [place] : []),
  ...(await nextAccounts(db, place, maxAccounts)),
];

/** The open entries of the account's wallet object, in the order of their task ids. */
const openEntries = async (objects: Objects, accountId: string): Promise<WalletEntry[]> =>
  (await objects.unwritten(accountId)).filter(({ end }) => !end).sort((one, other) => (one.taskId < other.taskId ? -1 : 1));

async function reconcileEntry(objects: Objects, accountId: string, entry: WalletEntry): Promise<"settled" | "returned" | "open"> {
  // The wallet object ends chats itself.
  if (entry.kind === "chat") return "open";
  const state = await objects.settleAgain(accountId, entry.taskId);
  if (state !== "gone") return state;
  await objects.returnHold({ ...entry, accountId });
  return "returned";
}

/** Reconciliation: settles again what is open, returns holds without a task and what lost wallets had been granted, and writes again what a restored database lost. */

import { nextAccounts } from "../db/audit.ts";
import { settle } from "../db/ledger.ts";
import { listOpenEntries, type OpenEntry } from "../db/open-entries.ts";
import type { Objects, Reconciliation } from "./objects.ts";

/** Accounts and open entries of one call. Each is a call to an object or two, and an invocation may make a thousand. */
const maxAccounts = 50;
const maxEntries = 200;
/** No chat takes longer: one that is open in D1 after this was open when a backup was made, and has ended since. */
const chatMs = 3_600_000;

interface Entry extends OpenEntry {
  /** Held by the wallet object, not in D1. */
  isInWallet: boolean;
}

/**
 * Reconciles one account, or those after `after` in the order of their ids, until this call's share is done. Throws when something does
 * not answer: repeating is safe.
 */
export async function reconcile(
  db: Env["DB"],
  objects: Objects,
  { account, after }: { account?: string | undefined; after?: string | undefined },
): Promise<Reconciliation> {
  const done: Reconciliation = { accounts: 0, settled: 0, returned: 0, open: 0, after: null };
  const [place = "", lastTask = ""] = (after ?? "").split(".");
  const pending = account === undefined ? await accountsAfter(db, place, lastTask !== "") : [account];
  for (const accountId of pending) {
    const isContinued = accountId === place && lastTask !== "";
    // Writes what is owed and, where the database was restored, what it lost.
    if (!isContinued) await objects.auditWallet(accountId);
    const entries = (await openEntries(db, objects, accountId)).filter(({ taskId }) => !isContinued || taskId > lastTask);
    for (const entry of entries) {
      if (done.settled + done.returned + done.open >= maxEntries) return done;
      done[await reconcileEntry(db, objects, entry)]++;
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

/** What is open for the account, in its wallet object and in D1, in the order of their tasks. */
async function openEntries(db: Env["DB"], objects: Objects, accountId: string): Promise<Entry[]> {
  const held = (await objects.unwritten(accountId)).filter(({ end }) => !end);
  const entries = [
    ...held.map((entry) => ({ ...entry, accountId, isInWallet: true })),
    ...(await listOpenEntries(db, accountId)).map((entry) => ({ ...entry, isInWallet: false })),
  ];
  return entries.sort((one, other) => (one.taskId < other.taskId ? -1 : 1));
}

async function reconcileEntry(db: Env["DB"], objects: Objects, entry: Entry): Promise<"settled" | "returned" | "open"> {
  const { accountId, taskId, kind, isInWallet } = entry;
  if (kind === "chat") {
    // A wallet object ends its chats itself.
    if (isInWallet || entry.at + chatMs > Date.now()) return "open";
    await settle(db, entry, 0, "deadline_exceeded");
    return "returned";
  }
  const state = await objects.settleAgain(accountId, taskId);
  if (state !== "gone") return state;
  if (isInWallet) await objects.returnHold(entry);
  else await settle(db, entry, 0, "refused");
  return "returned";
}

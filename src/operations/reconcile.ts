/** Reconciliation: settles open entries again, releases holds without a task, returns grants of lost storage, and writes entries again that a restored database lost. */

import { nextAccounts } from "../db/audit.ts";
import { settle } from "../db/ledger.ts";
import { listOpenEntries, type OpenEntry } from "../db/open-entries.ts";
import type { Objects, Reconciliation } from "./objects.ts";

/** The number of accounts and open entries in one call. Each needs one or two calls to objects, and an invocation may make a thousand. */
const maxAccounts = 50;
const maxEntries = 200;
/** Longer than any chat takes: a chat that is open in D1 after this time was open when a backup was made, and has ended since. */
const chatMs = 3_600_000;

interface Entry extends OpenEntry {
  /** True if the wallet object holds it, false if D1 does. */
  isInWallet: boolean;
}

/**
 * Reconciles one account, or the accounts after `after` in the order of their ids, up to the limits of one call. Throws if an object or D1
 * does not answer; it may be repeated.
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
    // Writes the object's settled entries to D1 and, if the database was restored, the entries that it lost.
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

/** The account's open entries in its wallet object and in D1, in the order of their task ids. */
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
    // Chats in a wallet object are skipped, because the object ends them itself.
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

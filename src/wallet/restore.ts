/** The entries of the last two days, which a wallet object keeps in case the database is restored to an earlier time. */

import { dayMs } from "../base/times.ts";
import { insertCredits } from "../db/credits.ts";
import { regrant, type SettledEntry, type WalletRow, writeEntries } from "../db/grants.ts";
import { hasEnded, toSettled } from "./book.ts";
import type { WalletState, WalletStore } from "./state.ts";

const historyMs = 2 * dayMs;
/** The maximum number of pages that one call removes. */
const pagesPerCall = 8;
/** About 8 GB: an object may store 10, and a very busy account fills more in these two days. */
const maxPages = 2_000_000;
/** The number of lost entries in one transaction. */
const entriesPerWrite = 500;

/** Removes pages of settled entries that are older than any backup that may be restored, and the oldest of too many. */
export function dropHistory(state: WalletState, storage: Pick<WalletStore, "page" | "drop">): void {
  const last = Math.min(state.firstPage, state.oldestPage + pagesPerCall);
  for (; state.oldestPage < last; state.oldestPage++) {
    const page = storage.page(state.oldestPage);
    const isRecent = page?.entries.some(({ end }) => (end?.at ?? Infinity) > Date.now() - historyMs);
    if (isRecent && state.firstPage - state.oldestPage < maxPages) return;
    if (page) storage.drop(page.seq);
  }
}

/**
 * Writes the entries that a restored database lost again, then requests a grant for the held amounts; returns the account's row after that.
 * Throws if the outcome is unknown; the next call continues there, because one call of the object may only make some hundred queries.
 */
export async function writeAgain(db: Env["DB"], store: WalletStore): Promise<WalletRow | undefined> {
  const { book, loaded: state } = store;
  const { accountId, oldestPage, revision } = state;
  if (!state.restored) await regrant(db, state, 0);
  for (let seq = state.restored?.page ?? oldestPage; seq <= book.lastPage;) {
    const lost: SettledEntry[] = [];
    for (; lost.length < entriesPerWrite && seq <= book.lastPage; seq++)
      lost.push(
        ...(store.page(seq)?.entries ?? [])
          .filter(hasEnded)
          // A page of an account with few tasks has older entries too, which D1 may lack because they are archived.
          .filter(({ end }) => end.n > 0 && end.n <= state.flushedTo && end.at > Date.now() - historyMs)
          .map(toSettled),
      );
    const { account } = await writeEntries(db, accountId, state.restored?.revision ?? revision, lost, { isGranted: false });
    state.restored = account && { page: seq, revision: account.revision };
    store.save();
    if (!account) throw new Error("the wallet is missing or restored again");
  }
  await insertCredits(db, accountId, store.credits());
  delete state.restored;
  return regrant(db, state, state.granted);
}

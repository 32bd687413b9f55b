/** The entries of the last two days, which a wallet object keeps in case the database is restored to an earlier time. */

import { beginRestore, endRestore, type WalletRow, writeEntries } from "../db/grants.ts";
import { hasEnded, toSettled, type WalletBook } from "./wallet-book.ts";
import type { WalletState, WalletStorage } from "./wallet-state.ts";

const historyMs = 48 * 3_600_000;
/** The maximum number of pages that one call removes. */
const pagesPerCall = 8;

/** Removes pages of settled entries that are older than any backup that may be restored. */
export function dropHistory(state: WalletState, storage: WalletStorage): void {
  const last = Math.min(state.firstPage, state.oldestPage + pagesPerCall);
  for (; state.oldestPage < last; state.oldestPage++) {
    const page = storage.page(state.oldestPage);
    if (page?.entries.some(({ end }) => (end?.at ?? Infinity) > Date.now() - historyMs)) return;
    if (page) storage.drop(page.seq);
  }
}

/** Writes the entries that a restored database lost again, then requests a grant for the held amounts; returns the account's row after that. Throws if the outcome is unknown; it may be repeated from the beginning. */
export async function writeAgain(
  db: Env["DB"],
  state: WalletState,
  book: WalletBook,
  storage: WalletStorage,
): Promise<WalletRow | undefined> {
  await beginRestore(db, state.accountId, state.revision, state.quota);
  for (let seq = state.oldestPage; seq <= book.lastPage; seq++) {
    const entries = storage.page(seq)?.entries ?? [];
    const written = entries
      .filter(hasEnded)
      // A page of an account with few tasks has older entries too, which D1 may lack because they are archived.
      .filter(({ end }) => end.n > 0 && end.n <= state.flushedTo && end.at > Date.now() - historyMs)
      .map(toSettled);
    if (written.length > 0) await writeEntries(db, state.accountId, state.revision, written, false);
  }
  return endRestore(db, state.accountId, state.granted, state.quota);
}

/** The entries of the last two days, which a wallet object keeps for a database that is restored to an earlier time. */

import { beginRestore, endRestore, type WalletRow, writeEntries } from "../db/grants.ts";
import { hasEnded, toSettled, type WalletBook } from "./wallet-book.ts";
import type { WalletState, WalletStorage } from "./wallet-state.ts";

const historyMs = 48 * 3_600_000;
/** Pages that one call removes at most. */
const pagesPerCall = 8;

/** Removes pages of settled entries that are older than any backup that would be restored. */
export function dropHistory(state: WalletState, storage: WalletStorage): void {
  const last = Math.min(state.firstPage, state.oldestPage + pagesPerCall);
  for (; state.oldestPage < last; state.oldestPage++) {
    const page = storage.page(state.oldestPage);
    if (page?.entries.some(({ end }) => (end?.at ?? Infinity) > Date.now() - historyMs)) return;
    if (page) storage.drop(page.seq);
  }
}

/** Writes what a restored database lost again, then has it grant what the object holds: its row after that. Throws when D1 cannot tell; repeating from the beginning is safe. */
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
      // A page of an account with little work has older entries too: D1 may lack them because they are archived.
      .filter(({ end }) => end.n > 0 && end.n <= state.flushedTo && end.at > Date.now() - historyMs)
      .map(toSettled);
    if (written.length > 0) await writeEntries(db, state.accountId, state.revision, written, false);
  }
  return endRestore(db, state.accountId, state.granted, state.quota);
}

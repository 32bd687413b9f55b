/** What an operator asks of a wallet object: whether it agrees with D1, and to give back what it lost. Each runs in turn with its writes. */

import type { WalletSums } from "../db/audit.ts";
import { readRows } from "../db/grants.ts";
import type { WalletBook } from "./wallet-book.ts";
import type { WalletLedger } from "./wallet-ledger.ts";

/**
 * For so long what a lost storage was granted stays reserved. A task lasts ten minutes and a chat eleven, and each tells its end, with what it
 * holds, until it is taken: a day later all have claimed what is theirs.
 */
const claimMs = 86_400_000;

/** The object's own sums, after everything that is owed was written. Throws when D1 does not answer. */
export async function auditWallet(ledger: WalletLedger, book: WalletBook, db: Env["DB"], accountId: string): Promise<WalletSums> {
  await ledger.flushAll();
  const state = await ledger.certain();
  const { held, owed } = book.sums();
  const [row] = await readRows(db, [accountId]);
  const granted = state?.granted ?? 0;
  const isGrantRight = (row?.granted ?? 0) === granted && granted >= held + owed;
  return { granted, isGrantRight, held, open: [...book.open()].length, lost: state?.lost ?? 0 };
}

/** Gives back what was granted to a storage that was lost, a day after that was found. Returns millionths, 0 before; throws when D1 does not answer, and repeating is safe. */
export async function returnLost(ledger: WalletLedger): Promise<number> {
  const state = await ledger.certain();
  if (!state?.lost) return 0;
  const { lost } = state;
  if ((state.lostAt ??= Date.now()) > Date.now() - claimMs) return 0;
  state.lost = 0;
  await ledger.giveBack(lost);
  return lost;
}

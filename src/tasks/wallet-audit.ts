/** Operations of a wallet object for the operator: checks that it agrees with D1, and returns grants of lost storage. Both wait for the object's running writes. */

import type { WalletSums } from "../db/audit.ts";
import { readRows } from "../db/grants.ts";
import type { WalletBook } from "./wallet-book.ts";
import type { WalletLedger } from "./wallet-ledger.ts";

/**
 * How long the grant of lost storage stays reserved. A task lasts at most ten minutes and a chat eleven, and each repeats the report of its
 * end, with the amount that it holds, until the wallet accepts it: after a day all of them have claimed their holds.
 */
const claimMs = 86_400_000;

/** The object's own sums, after all settled entries were written. Throws if D1 does not answer. */
export async function auditWallet(ledger: WalletLedger, book: WalletBook, db: Env["DB"], accountId: string): Promise<WalletSums> {
  await ledger.flushAll();
  const state = await ledger.certain();
  const { held, owed } = book.sums();
  const [row] = await readRows(db, [accountId]);
  const granted = state?.granted ?? 0;
  const isGrantRight = (row?.granted ?? 0) === granted && granted >= held + owed;
  return { granted, isGrantRight, held, open: [...book.open()].length, lost: state?.lost ?? 0 };
}

/** Returns the grant of lost storage, a day after the loss was found. Returns millionths, 0 before; throws if D1 does not answer, and may be repeated. */
export async function returnLost(ledger: WalletLedger): Promise<number> {
  const state = await ledger.certain();
  if (!state?.lost) return 0;
  const { lost } = state;
  if ((state.lostAt ??= Date.now()) > Date.now() - claimMs) return 0;
  state.lost = 0;
  await ledger.giveBack(lost);
  return lost;
}

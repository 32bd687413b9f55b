/** The audit: compares each wallet with its entries, in slices of few rows, with a checkpoint from which the next call continues. */

import { alert } from "../base/log.ts";
import { hasAccount, nextAccounts } from "./accounts.ts";
import { compare, type Drift, advance, newWalk, readSlice, type Walk } from "./audit-slice.ts";
import { readJob, writeJob } from "./jobs.ts";

/** Slices of one call by default; each is one transaction of nine statements, and an invocation may run a thousand. */
const slicesPerCall = 100;
/** The findings since the audit began its round over all accounts. Amounts in millionths. */
export interface Audit {
  /** Accounts checked in this round: all accounts if it is complete */
  accounts: number;
  tasksOpen: number;
  reserved: number;
  /** Every wallet whose sums differ from the ledger; for accounts that this round has not reached, the previous round's findings. */
  drift: Drift[];
  entries: number;
  isComplete: boolean;
  /** The account that is being checked, or null between two accounts */
  current: string | null;
  startedAt: number;
}

/** The report of an account's wallet object about itself: amounts in millionths, and whether D1 has granted what it holds. */
export interface WalletSums {
  granted: number;
  isGrantRight: boolean;
  held: number;
  /** Open tasks and chats */
  open: number;
  /** Granted to storage that the object lost, and claimed by no task */
  lost: number;
}

/** Asks an account's wallet object for its sums; undefined: the account is left to a later round. */
interface WalletAuditor {
  auditWallet(accountId: string): Promise<WalletSums | void>;
}

interface State extends Omit<Audit, "isComplete" | "current"> {
  /** The last account that was checked; the next slice begins behind it. */
  after: string;
  walk?: Walk | undefined;
  isComplete: boolean;
  /** The findings of the previous round. */
  earlier: { drift: Drift[]; owners: string[] };
  /** The account of each wallet that differs. */
  owners: string[];
}

/**
 * Continues the audit by at most `maxSlices` slices, and begins a new round after a complete one. `wallets` calls the object of an
 * account. With `accountId` it checks only that account, completely, and does not change the round. Throws if D1 does not answer, and for that
 * account if its wallet does not; then only the slices of this call must be repeated.
 */
export async function audit(db: D1Database, wallets: WalletAuditor, accountId?: string, maxSlices = slicesPerCall): Promise<Audit> {
  const stored = accountId === undefined ? await readJob<State>(db, "audit") : undefined;
  const state = stored && !stored.isComplete ? stored : newState(stored);
  if (accountId !== undefined) {
    if (await hasAccount(db, accountId)) for (state.walk = newWalk(accountId); state.walk;) await slice(db, state, state.walk, wallets);
    return toAudit({ ...state, isComplete: true });
  }
  // A wallet that does not answer is left to a later round: it must not hide what is wrong with others.
  const patient: WalletAuditor = {
    auditWallet: (id) => wallets.auditWallet(id).catch((error: unknown) => alert("audit", { account: id, outcome: "left_out" }, error)),
  };
  let slices = maxSlices;
  while (slices > 0 && !state.isComplete) {
    const ids = state.walk ? [state.walk.accountId] : await nextAccounts(db, state.after, slices);
    state.isComplete = ids.length === 0;
    for (const id of ids) for (state.walk ??= newWalk(id); state.walk && slices > 0; slices--) await slice(db, state, state.walk, patient);
  }
  await writeJob(db, "audit", state);
  return toAudit(state);
}

const newState = (last: State | undefined): State => ({
  accounts: 0,
  tasksOpen: 0,
  reserved: 0,
  drift: [],
  entries: 0,
  startedAt: Date.now(),
  after: "",
  isComplete: false,
  owners: [],
  earlier: { drift: last?.drift ?? [], owners: last?.owners ?? [] },
});

function toAudit({ accounts, tasksOpen, reserved, drift, entries, isComplete, startedAt, walk, after, earlier }: State): Audit {
  const ahead = isComplete ? [] : earlier.drift.filter((_, at) => (earlier.owners[at] ?? "") > after);
  return { accounts, tasksOpen, reserved, drift: [...drift, ...ahead], entries, isComplete, current: walk?.accountId ?? null, startedAt };
}

/**
 * Entries were archived before the walk reached them, so it restarts, once. An account whose entries are archived faster than they are
 * read, as in the first days of an old database, is left to a later round and keeps its earlier findings.
 */
function overtake(state: State, { accountId, isSecond, isOvertaken }: Walk): void {
  state.walk = isOvertaken ? undefined : { ...newWalk(accountId, isSecond), isOvertaken: true };
  if (!state.walk) leaveOut(state, accountId);
}

/** Leaves an account to a later round, with its earlier findings. */
function leaveOut(state: State, accountId: string): void {
  state.walk = undefined;
  for (const [at, owner] of state.earlier.owners.entries()) {
    const drift = state.earlier.drift[at];
    if (owner !== accountId || !drift) continue;
    state.drift.push(drift);
    state.owners.push(owner);
  }
  state.after = accountId;
}

/** Reads one slice of the account's rows in one transaction, and ends its check if that was the last one. */
async function slice(db: D1Database, state: State, walk: Walk, wallets: WalletAuditor): Promise<void> {
  const read = await readSlice(db, walk);
  state.entries += read.entries.flat().length;
  const isComplete = advance(walk, read);
  if (isComplete === "overtaken") return overtake(state, walk);
  if (!isComplete) return;

  const account = read.wallets.find(({ id }) => id === walk.accountId);
  const drift = compare(walk, read);
  // An object without a grant from D1 holds nothing.
  const wallet = account && account.granted > 0 ? await wallets.auditWallet(walk.accountId) : null;
  if (wallet === undefined) return leaveOut(state, walk.accountId);
  if (account && wallet && (!wallet.isGrantRight || wallet.lost)) {
    const { granted, used } = account;
    drift.push({ id: walk.accountId, reserved: granted, used, ledgerReserved: wallet.granted - wallet.lost, ledgerUsed: used });
  }
  if (drift.length > 0 && !walk.isSecond) {
    state.walk = newWalk(walk.accountId, true);
    return;
  }
  state.entries += read.recent.flat().length;
  state.drift.push(...drift);
  state.owners.push(...drift.map(() => walk.accountId));
  state.accounts++;
  state.tasksOpen += wallet?.open ?? 0;
  state.reserved += wallet?.held ?? 0;
  state.after = walk.accountId;
  state.walk = undefined;
}

/** What the gateway passes to the operations Worker with calls: its task and wallet objects. */

import type { Audit, WalletSums } from "../db/audit.ts";
import type { Charge } from "../db/ledger.ts";
import type { LoggedRequest } from "../db/requests.ts";
import type { Column, Span, Used } from "../db/usage.ts";
import type { WalletEntry } from "../tasks/wallet-book.ts";

/** What became of a task's hold: settled again, still open, or nothing is known of the task. */
export type Settled = "settled" | "open" | "gone";

export interface Objects {
  /** An account's sums by its wallet object. What it owes is written to D1 first, and again where the database was restored. */
  auditWallet(accountId: string): Promise<WalletSums>;
  /** Announces a change of the account's keys; answers its revision. See `db/key-changes.ts`. */
  announceKeys(accountId: string): Promise<number>;
  /** The account's open tasks and chats, and those whose end is not written to D1. */
  unwritten(accountId: string): Promise<WalletEntry[]>;
  /** The state of a task, read only. "gone": there is no record of it. */
  taskState(accountId: string, taskId: string): Promise<"final" | "open" | "gone">;
  /** Has the task's object do what is overdue, and settle the task again if it has ended. */
  settleAgain(accountId: string, taskId: string): Promise<Settled>;
  /** Ends a hold of the wallet object without a charge, because there is no record of its task. */
  returnHold(charge: Charge): Promise<void>;
  /** Gives back what the storage of a wallet object that was lost had been granted, and no task has claimed. Millionths; 0 within a day of the loss. */
  returnLost(accountId: string): Promise<number>;
  /** Cancels the task if it is open, and deletes its files and record. False when its settlement does not come through. */
  erase(accountId: string, taskId: string): Promise<boolean>;
}

/** What one call of the reconciliation did. */
export interface Reconciliation {
  accounts: number;
  /** Entries whose tasks had ended: settled again. */
  settled: number;
  /** Holds without a task, and what wallets had been granted that lost their storage: returned. */
  returned: number;
  /** Entries of tasks and chats that are under way, and wallets whose lost storage tasks may still claim from. */
  open: number;
  /** Where the next call continues: an account, and the last task of it if it is not done; null after the last one. */
  after: string | null;
}

/** Where an archived task stood in its account's lists, by its submission and by its end: milliseconds. */
export interface ArchivedPlace {
  taskId: string;
  at: number;
  closedAt: number;
}

/** What the gateway calls. A method that gets the objects may use them until it returns. */
export interface OperationsWorker {
  /** Goes on with the audit, or audits one account; see `src/db/audit.ts`. */
  audit(objects: Objects, accountId?: string): Promise<Audit>;
  /** Reconciles an account, or a share of all; see `reconcile.ts`. */
  reconcile(objects: Objects, which: { account?: string | undefined; after?: string | undefined }): Promise<Reconciliation>;
  /** Erases an account and its owner; see `erase.ts`. */
  erase(objects: Objects, accountId: string): Promise<"erased" | "continues" | "unknown">;
  /** Keeps callers' requests for the console. */
  logRequests(requests: LoggedRequest[]): Promise<void>;
  /** Usage by reference, archived entries included; see `archived-usage.ts`. */
  referencedUsage(accountId: string, span: Span, columns: Exclude<Column, "reference">[], most: number): Promise<Used[] | "too_many">;
  /** The place of an account's archived task. */
  findArchived(accountId: string, taskId: string): Promise<ArchivedPlace | undefined>;
  /** One run of the checks, every five minutes. */
  check(objects: Objects): Promise<void>;
}

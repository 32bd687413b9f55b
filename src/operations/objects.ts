/** The interface that the gateway passes to the operations Worker with calls: access to its task and wallet objects. */

import type { Audit, WalletSums } from "../db/audit.ts";
import type { Charge } from "../db/ledger.ts";
import type { LoggedRequest } from "../db/requests.ts";
import type { Column, Span, Used } from "../db/usage.ts";
import type { Owner } from "./focus.ts";
import type { UsageRow } from "./usage.ts";
import type { WalletEntry } from "../tasks/wallet-book.ts";

/** The state of a task's hold: settled again, still open, or without a task. */
export type Settled = "settled" | "open" | "gone";

export interface Objects {
  /**
   * An account's sums in its wallet object. Before that the object writes its settled entries to D1, and after a restore those that D1
   * lost.
   */
  auditWallet(accountId: string): Promise<WalletSums>;
  /** Announces a change of the account's keys; returns its revision. See `db/key-changes.ts`. */
  announceKeys(accountId: string): Promise<number>;
  /** The account's open tasks and chats, and those whose end is not written to D1 yet. */
  unwritten(accountId: string): Promise<WalletEntry[]>;
  /** The state of a task, read only. "gone": it has no record. */
  taskState(accountId: string, taskId: string): Promise<"final" | "open" | "gone">;
  /** Runs the overdue step of a task's object, and settles the task again if it has ended. */
  settleAgain(accountId: string, taskId: string): Promise<Settled>;
  /** Releases a hold of the wallet object without a charge, because its task has no record. */
  returnHold(charge: Charge): Promise<void>;
  /** Returns the amount that was granted to a wallet object's lost storage and that no task has claimed. Millionths; 0 within a day of the loss. */
  returnLost(accountId: string): Promise<number>;
  /** Cancels the task if it is open, and deletes its files and record. False if its settlement fails. */
  erase(accountId: string, taskId: string): Promise<boolean>;
}

/** The result of one call of the reconciliation. */
export interface Reconciliation {
  accounts: number;
  /** Entries whose tasks had ended: settled again. */
  settled: number;
  /** Returned amounts: holds without a task, and grants of lost storage. */
  returned: number;
  /** Entries of running tasks and chats, and wallets whose lost storage tasks may still claim from. */
  open: number;
  /** Where the next call continues: an account, and its last task if the account is not finished; null after the last account. */
  after: string | null;
}

/** The position of an archived task in its account's lists, by its submission and by its end, in milliseconds. */
export interface ArchivedPlace {
  taskId: string;
  at: number;
  closedAt: number;
}

/** The methods that the gateway calls. A method that gets the objects may use them until it returns. */
export interface OperationsWorker {
  /** Continues the audit, or audits one account; see `src/db/audit.ts`. */
  audit(objects: Objects, accountId?: string): Promise<Audit>;
  /** Reconciles one account, or the next ones of all; see `reconcile.ts`. */
  reconcile(objects: Objects, which: { account?: string | undefined; after?: string | undefined }): Promise<Reconciliation>;
  /** Erases an account and its owner; see `erase.ts`. */
  erase(objects: Objects, accountId: string): Promise<"erased" | "continues" | "unknown">;
  /** Stores callers' requests for the console. */
  logRequests(requests: LoggedRequest[]): Promise<void>;
  /** An account's usage in one kind of group, archived entries included; see `usage.ts`. "too_many" if over `maxTasks` tasks with a reference would be read. */
  usage(accountId: string, span: Span, group: Column, maxTasks: number): Promise<UsageRow[] | "too_many">;
  /** The same by day, model, key and, with that group, reference, as a table; see `focus.ts`. */
  usageTable(owner: Owner, span: Span, group: Column, maxTasks: number): Promise<{ csv: string } | "too_many">;
  /** Usage by reference, for gateways of the release before. */
  referencedUsage(accountId: string, span: Span, columns: Exclude<Column, "reference">[], most: number): Promise<Used[] | "too_many">;
  /** The position of an account's archived task. */
  findArchived(accountId: string, taskId: string): Promise<ArchivedPlace | undefined>;
  /** One run of the checks, every five minutes. */
  check(objects: Objects): Promise<void>;
}

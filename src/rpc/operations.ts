/** Answers of the operations Worker that the console shows. Its methods are in `operations/worker.ts`. */

/** What to do about changes that a restored database lost: make them again, or accept that they are undone. */
export type RestoredDecision = "replay" | "accept";

/** An account that lost changes of its access. */
export interface RestoredAccount {
  account: string;
  /** "refused": its keys are refused until the operator decides. */
  state: "refused" | "replayed" | "accepted";
  /** The lost changes, oldest first. `id` is the key, or the wallet of the key or account. */
  changes: { change: string; id?: string }[];
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
  /** Accounts that lost changes of their access. */
  restored: RestoredAccount[];
  /** Where the next call continues: an account, and its last task if the account is not finished; null after the last account. */
  after: string | null;
}

/** How a receiver took the test alert. */
export interface Delivery {
  receiver: "webhook" | "mail";
  delivered: boolean;
  /** Why not: the name of a variable and what is missing, or the receiver's status. */
  reason?: string;
}

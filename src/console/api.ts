/** The interface that the gateway passes to the console with each request: its API, called as the signed-in user. */

import type { Caller } from "../db/callers.ts";
import type { Budget } from "../db/grants.ts";
import type { PriceOverrides } from "../catalog/prices.ts";
import type { Routes } from "../catalog/routes.ts";
import type { WalletSums } from "../db/audit.ts";
import type { Reconciliation } from "../operations/objects.ts";
import type { Task } from "../tasks/record.ts";
import type { WalletEntry } from "../tasks/wallet-book.ts";
import type { WalletView } from "../tasks/wallet-limits.ts";

/** Providers, routes and prices as configured, with their state. */
export interface Upstreams {
  providers: {
    name: string;
    /** True if its secret or binding is set. */
    on: boolean;
    /** True if its credentials or funds failed in this isolate, which prefers other providers for a minute. */
    aside: boolean;
  }[];
  prices: PriceOverrides;
  routes: Routes;
}

export interface Api {
  /** Answers a request like the gateway does for a request with the caller's key. */
  ask(caller: Caller, request: Request): Promise<Response>;
  /** A task's whole record, which its caller does not see; null if it does not exist or belongs to another account. */
  record(accountId: string, taskId: string): Promise<Task | null>;
  /** The balances of an account and of these keys (their wallets), by id; those that do not exist are missing. */
  balances(accountId: string, keyIds?: string[]): Promise<Record<string, WalletView>>;
  /** Sets the quota of an account or one of its keys (`id`, its wallet). `below_use` if the quota would be below the used and reserved amounts. */
  changeQuota(accountId: string, id: string, change: { quota: number | null } | { add: number }): Promise<"changed" | "below_use">;
  /** Sets the budget of an account or one of its keys (`id`, its wallet); null removes it. Amounts already spent in its window count. */
  changeBudget(accountId: string, id: string, budget: Budget | null): Promise<void>;
  /** Announces a change of the account's keys; returns its revision. See `db/key-changes.ts`. */
  announceKeys(accountId: string): Promise<number>;
  /** The account's tasks and chats that D1 does not have: open ones, and ended ones that are not written yet. Ask before D1. */
  unwritten(accountId: string): Promise<WalletEntry[]>;
  /** An account's sums in its wallet object, for the audit. */
  auditWallet(accountId: string): Promise<WalletSums>;
  /** Reconciles a share of all accounts, from the start or from a place in an earlier answer; undefined without the operations Worker. For admins. */
  reconcile(after: string | undefined): Promise<Reconciliation | undefined>;
  /** Erases an account and its owner: see `operations/erase.ts`; undefined without the operations Worker. For admins. */
  erase(accountId: string): Promise<"erased" | "continues" | "unknown" | undefined>;
  /** Providers, routes and prices as configured, without secrets and URLs. For admins. */
  upstreams(): Promise<Upstreams>;
}

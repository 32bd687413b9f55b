/** What the gateway gives the console with each request: its API, to be asked in the name of who is signed in. */

import type { Caller } from "../db/callers.ts";
import type { PriceOverrides } from "../catalog/prices.ts";
import type { Routes } from "../catalog/routes.ts";
import type { WalletSums } from "../db/audit.ts";
import type { Task } from "../tasks/record.ts";
import type { WalletEntry } from "../tasks/wallet-book.ts";
import type { WalletView } from "../tasks/wallet-limits.ts";

/** What the gateway asks, and as it stands. */
export interface Upstreams {
  providers: {
    name: string;
    /** Its secret or binding is set. */
    on: boolean;
    /** Its credentials or money failed at the machine that answers, which asks others first for a minute. */
    aside: boolean;
  }[];
  prices: PriceOverrides;
  routes: Routes;
}

export interface Api {
  /** Answers a request to the gateway as if the caller's key had come with it. */
  ask(caller: Caller, request: Request): Promise<Response>;
  /** A task's whole record, which its caller is not shown; null when there is none, or none of this account. */
  record(accountId: string, taskId: string): Promise<Task | null>;
  /** The balances of an account and of these keys (their wallets), by id; what does not exist is missing. */
  balances(accountId: string, keyIds?: string[]): Promise<Record<string, WalletView>>;
  /** Sets the quota of an account or one of its keys (`id`, its wallet). `below_use` when less than what is used and reserved would remain. */
  changeQuota(accountId: string, id: string, change: { quota: number | null } | { add: number }): Promise<"changed" | "below_use">;
  /** The account's tasks and chats that D1 does not have: open ones, and ended ones that are not written yet. Ask before D1. */
  unwritten(accountId: string): Promise<WalletEntry[]>;
  /** An account's sums by its own object, for the audit. */
  auditWallet(accountId: string): Promise<WalletSums>;
  /** Providers, routes and prices as configured, without secrets and addresses. For admins. */
  upstreams(): Promise<Upstreams>;
}

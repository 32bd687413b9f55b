/** Compares the gateway's balances with what its callers know: every millionth must be explained. Pure. */

import { micro } from "../support/bill.ts";
import type { Wallets } from "./accounts.ts";
import type { Audit, TaskData } from "./answers.ts";
import type { ChatAccount } from "./chats.ts";

/** What is known of one account when all its tasks are final. */
export interface AccountFacts {
  name: string;
  wallets: Wallets;
  /** The charges of its completed tasks in millionths. */
  charged: number;
  chats: ChatAccount;
}

/** The charge of a completed task in millionths: of several images, only those that were made count. */
export function toCharge({ status, metadata, result }: TaskData): number {
  if (status !== "completed") return 0;
  const price = micro(metadata.reserved);
  return metadata.kind === "image" ? (price / (metadata.n ?? 1)) * (result?.images?.length ?? 0) : price;
}

/**
 * Every unexplained amount. A chat whose Worker was killed stays reserved until its hold's alarm
 * returns the money, eleven minutes later: as all chats of a run have the same size, the reserved amount must be a multiple of one
 * hold, on each account at most as many as chats were lost there, and in all as many as the audit counts as open.
 */
export function balanceFaults(audit: Audit, accounts: readonly AccountFacts[], chatCost: number): string[] {
  const faults: string[] = [];
  if (audit.drift.length > 0) faults.push(`the audit has drift: ${JSON.stringify(audit.drift)}`);
  const hold = audit.tasks_open === 0 ? 0 : micro(audit.reserved) / audit.tasks_open;
  if (audit.tasks_open === 0 && audit.reserved !== 0) faults.push(`nothing is open and ${audit.reserved} is reserved`);
  let held = 0;
  for (const { name, wallets, charged, chats } of accounts) {
    for (const [owner, wallet] of Object.entries(wallets)) faults.push(...walletFaults(`${name}, ${owner}`, wallet));
    const holds = hold === 0 ? 0 : micro(wallets.account.reserved) / hold;
    held += holds;
    const lost = micro(wallets.account.used) - charged - chats.charged;
    const settled = chatCost === 0 ? 0 : lost / chatCost;
    if (!Number.isInteger(holds) || (hold === 0 && wallets.account.reserved !== 0))
      faults.push(`${name}: ${wallets.account.reserved} is reserved, which no lost chats explain (${hold / 1e6} each)`);
    if (!Number.isInteger(settled) || settled < 0 || (chatCost === 0 && lost !== 0))
      faults.push(
        `${name}: used ${wallets.account.used}, its tasks cost ${charged / 1e6} and its chats ${chats.charged / 1e6}; over ${lost / 1e6}`,
      );
    if (holds + settled > chats.uncertain)
      faults.push(`${name}: ${holds} chats are held and ${settled} settled unseen, but only ${chats.uncertain} were lost`);
    if (wallets.account.used !== wallets.key.used || wallets.account.reserved !== wallets.key.reserved)
      faults.push(
        `${name}: the account used ${wallets.account.used} and reserved ${wallets.account.reserved}, its only key ${wallets.key.used} and ${wallets.key.reserved}`,
      );
  }
  if (Number.isInteger(held) && held !== audit.tasks_open) faults.push(`${audit.tasks_open} are open, lost chats are ${held} of them`);
  return faults;
}

function walletFaults(name: string, { quota, used, reserved, remaining }: Wallets["account"]): string[] {
  const faults: string[] = [];
  if (used < 0 || reserved < 0 || (remaining ?? 0) < 0)
    faults.push(`${name}: below zero: used ${used}, reserved ${reserved}, remaining ${remaining}`);
  if ((quota === null) !== (remaining === null)) faults.push(`${name}: quota ${quota}, remaining ${remaining}`);
  if (quota !== null && micro(quota) !== micro(remaining ?? 0) + micro(used) + micro(reserved))
    faults.push(`${name}: quota ${quota} is not remaining ${remaining} + used ${used} + reserved ${reserved}`);
  return faults;
}

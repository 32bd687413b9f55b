/** Compares the gateway's balances with the clients' records: every millionth must be explained; chats are compared row by row. */

import * as z from "zod/mini";
import { micro } from "../support/bill.ts";
import { type Audit, resultImages, type TaskData } from "../support/api-answers.ts";
import { startWrangler } from "../support/wrangler.ts";
import type { Wallets } from "../support/admin-client.ts";
import { walletFaults } from "../engine/wallets.ts";
import type { ChatAccount } from "./chats.ts";

/** The clients' knowledge of one account when all its tasks are final. */
export interface AccountFacts {
  name: string;
  wallets: Wallets;
  /** The charges of its completed tasks in millionths. */
  charged: number;
  chats: ChatAccount;
}

/** The charge of a completed task in millionths: only generated images are charged. */
export function expectedCharge({ status, metadata, result }: Pick<TaskData, "status" | "metadata" | "result">): number {
  if (status !== "completed") return 0;
  const price = micro(metadata.reserved);
  return metadata.kind === "image" ? (price / Number(metadata["n"] ?? 1)) * resultImages(result).length : price;
}

/**
 * Every amount that the gateway reports and the clients cannot explain. A chat whose Worker was killed is held until its alarm returns the
 * money eleven minutes later. All chats of a run have the same size, so the held amount must be a multiple of one hold, at most one per
 * lost chat of the account, and equal to all that the audit reports as open.
 */
export function accountingFaults(audit: Audit, accounts: readonly AccountFacts[], chatCost: number): string[] {
  const faults: string[] = [];
  if (audit.drift.length > 0) faults.push(`the audit has drift: ${JSON.stringify(audit.drift)}`);
  const hold = audit.tasks_open === 0 ? 0 : micro(audit.reserved) / audit.tasks_open;
  if (audit.tasks_open === 0 && audit.reserved !== 0) faults.push(`nothing is open and ${audit.reserved} is reserved`);
  let held = 0;
  for (const { name, wallets, charged, chats } of accounts) {
    faults.push(...walletFaults(name, wallets));
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
  }
  if (Number.isInteger(held) && held !== audit.tasks_open) faults.push(`${audit.tasks_open} are open, lost chats are ${held} of them`);
  return faults;
}

// One string, so that the output is short however long the run was.
const question = "SELECT group_concat(task_id) AS free FROM entry WHERE kind = 'chat' AND charged = 0";
const shape = z.array(z.object({ results: z.array(z.object({ free: z.nullable(z.string()) })) }));

/** The ids of chats that were settled without a charge, in the ledger of a stopped gateway. */
export async function readFreeChats(stateDir: string): Promise<string[]> {
  const place = ["--local", "--persist-to", stateDir, "-c", "wrangler.toml"];
  const wrangler = startWrangler(["d1", "execute", "DB", ...place, "--json", "--command", question], stateDir, process.env);
  const code = await wrangler.exited;
  const output = wrangler.output();
  if (code !== 0) throw new Error(`the ledger could not be read:\n${output}`);
  const [answer] = shape.parse(JSON.parse(output.slice(output.indexOf("["), output.lastIndexOf("]") + 1)));
  return answer?.results[0]?.free?.split(",") ?? [];
}

/** Chats that were answered, or interrupted while the gateway kept running, but are not charged. */
export const freeFaults = (free: string[], charged: ReadonlySet<string>): string[] =>
  free.filter((id) => charged.has(id)).map((id) => `${id} was answered and not charged`);

/** Old holds of tasks in a wallet object: each task is asked whether it has ended, or whether its submission crashed before its record was written. */

import { toObjectId } from "../ids.ts";
import type { WalletBook } from "./wallet-book.ts";

/** A task lasts at most ten minutes: an older hold is one that the task forgot, or never knew. */
const oldMs = 900_000;
const askAgainMs = 60_000;

/** When the hold's task is asked, in milliseconds; for a chat, which has no object, when its hold is released. */
export const holdEndsAt = ({ at, deadline }: { at: number; deadline?: number | undefined }, now = 0): number =>
  deadline ?? Math.max(at + oldMs, now + askAgainMs);

/** Lets the tasks of old holds settle them; returns the ids of tasks without a record, whose holds the wallet has to release. Throws if a task's object does not answer. */
export async function askOldTasks(book: WalletBook, tasks: Env["TASKS"], accountId: string, now: number): Promise<string[]> {
  const gone: string[] = [];
  for (const { taskId, at, deadline } of book.open()) {
    if (deadline !== undefined || at + oldMs > now) continue;
    const id = toObjectId(tasks, taskId);
    if (!id || (await tasks.get(id).tellWallet(accountId)) === "gone") gone.push(taskId);
  }
  return gone;
}

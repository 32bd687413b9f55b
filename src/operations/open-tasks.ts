/**
 * The check for late tasks: walks over the accounts with a checkpoint, examines tasks that are older than the maximum age of an open
 * task, and counts those that are open.
 */

import { alert } from "../base/log.ts";
import { deadlineSeconds } from "../catalog/models.ts";
import { nextBusyAccounts } from "../db/accounts.ts";
import { readJob, writeJob } from "../db/jobs.ts";
import { writeInFlight } from "../db/operator-series.ts";
import type { Objects } from "../rpc/objects.ts";

/** The number of accounts that one run reads, and how many of them it asks for their open tasks. */
const perRun = { limit: 2_000, busyLimit: 50 };
/** The number of late tasks that one run examines. */
const maxLooked = 50;
/** How long after its deadline a task is certainly late: by then the object should have handled the deadline. */
const graceMs = 600_000;

interface Finding {
  accountId: string;
  taskId: string;
  /** "gone": the hold has no task */
  state: "late" | "gone";
}

interface Progress {
  after: string;
  found: Finding[];
  /** The open tasks that this round has counted. */
  open?: number;
}

/** Continues the walk. Returns the findings of this round and, for accounts that it has not reached, of the previous round. */
export async function checkOpenTasks(db: Env["DB"], objects: Objects, now: number): Promise<Finding[]> {
  const { after, found, open: counted = 0 }: Progress = (await readJob(db, "open_tasks")) ?? { after: "", found: [] };
  const { busy, last } = await nextBusyAccounts(db, after, perRun);
  const fresh: Finding[] = [];
  let looked = 0;
  let open = after === "" ? 0 : counted;
  for (const accountId of busy) {
    // One that does not answer is left to the next round: it must not hide the late tasks of others.
    const entries =
      looked < maxLooked
        ? await objects.unwritten(accountId).catch((error: unknown) => {
            alert("check", { account: accountId, outcome: "left_out" }, error);
            return [];
          })
        : [];
    const running = entries.filter(({ kind, end }) => !end && kind !== "chat");
    open += running.length;
    const late = running.filter(({ kind, at }) => at + deadlineMs(kind) + graceMs < now);
    for (const { taskId } of late.slice(0, maxLooked - looked)) {
      looked++;
      const state = await objects.taskState(accountId, taskId);
      // The settlement of a final task whose price is still held is late.
      fresh.push({ accountId, taskId, state: state === "gone" ? "gone" : "late" });
    }
  }
  const elsewhere = found.filter(({ accountId }) => accountId <= after || (last !== undefined && accountId > last));
  if (last === undefined) await writeInFlight(db, now, open);
  const next: Progress = { after: last ?? "", found: [...elsewhere, ...fresh], open };
  await writeJob(db, "open_tasks", next);
  return next.found;
}

const deadlineMs = (kind: string) => 1000 * (deadlineSeconds[kind as keyof typeof deadlineSeconds] ?? 0);

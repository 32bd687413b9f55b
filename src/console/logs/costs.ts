/** What requests of the log cost: which of them made a task or a chat, and what those hold or were charged. */

import { isChatId } from "../../base/ids.ts";
import type { ConsoleContext } from "../context.ts";
import { readCharges, type TaskCharge } from "../../db/ledger-reports.ts";
import type { RequestEntry } from "../../db/requests.ts";

const isChat = ({ task }: RequestEntry) => isChatId(task);

/** True if the request named or made a task; a chat has no page. */
export const hasTask = (entry: RequestEntry) => entry.task !== undefined && !isChat(entry);

/** True if the request's page is that of its task: it made the task, or read it. */
export const isOfTask = (entry: RequestEntry) => hasTask(entry) && entry.status < 400 && !entry.path.startsWith("DELETE ");

/** True if the request made a task or chat, which has a cost. */
export const isSubmission = (entry: RequestEntry) =>
  isChat(entry) || (isOfTask(entry) && /^POST (?!.*\/(cancel|callback|test)$)/.test(entry.path));

/** What a submission holds or was charged, and how its task ended; without an outcome it has not ended. */
export type Charge = Omit<TaskCharge, "charged" | "outcome"> & { charged: number | null; outcome?: string };

/** What submissions cost: from D1, and from the wallet what D1 does not have yet. */
export async function readCosts(c: ConsoleContext, entries: RequestEntry[]): Promise<Map<string, Charge>> {
  const { id } = c.get("account");
  const tasks = entries.flatMap((entry) => (entry.task !== undefined && isSubmission(entry) ? [entry.task] : []));
  if (tasks.length === 0) return new Map();
  const unwritten = await c.env.API.unwritten(id);
  const charges = new Map<string, Charge>(await readCharges(c.env.DB, id, tasks));
  for (const { taskId, held, end } of unwritten)
    charges.set(taskId, end ? { held, charged: end.charged, outcome: end.outcome } : { held, charged: null });
  return charges;
}

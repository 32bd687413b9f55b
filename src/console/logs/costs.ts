/** What requests of the log cost: which of them made a task or a chat, and what those hold or were charged. */

import { isChatId } from "../../base/ids.ts";
import type { ConsoleContext } from "../context.ts";
import { readCharges, type TaskCharge } from "../../db/ledger-reports.ts";
import type { RequestEntry } from "../../db/request-pages.ts";
import { isSubmission } from "../../db/requests.ts";
import { parseAttempts } from "../../db/settled-sums.ts";

/** True if the request named or made a task; a chat has no page. */
export const hasTask = ({ task }: RequestEntry) => task !== undefined && !isChatId(task);

/** True if the request's page is that of its task: it made the task, or read it. */
export const isOfTask = (entry: RequestEntry) => hasTask(entry) && entry.status < 400 && !entry.path.startsWith("DELETE ");

/** What a submission holds or was charged, and how its task ended; without an outcome it has not ended. */
export interface Charge {
  held: number;
  charged: number | null;
  outcome?: string;
  /** A sentence, if a later route than the first completed it. Names providers for admins only. */
  rescue?: string | undefined;
}

function rescueText(c: ConsoleContext, { outcome, attempts }: TaskCharge): string | undefined {
  const providers = attempts === null ? [] : parseAttempts(attempts).map(({ route }) => route.split(" ")[1] ?? "");
  const made = providers.at(-1);
  if (outcome !== "completed" || made === undefined || providers.length < 2) return undefined;
  if (c.var.account.admin !== 1) return c.var.t("logs_rescued_at", { attempt: providers.length });
  return c.var.t("logs_rescued_by", { failed: [...new Set(providers.slice(0, -1))].join(", "), made });
}

/** What submissions cost: from D1, and from the wallet what D1 does not have yet. */
export async function readCosts(c: ConsoleContext, entries: RequestEntry[]): Promise<Map<string, Charge>> {
  const { id } = c.var.account;
  const tasks = entries.flatMap((entry) => (entry.task !== undefined && isSubmission(entry) ? [entry.task] : []));
  if (tasks.length === 0) return new Map();
  // First those that D1 does not have: they may be written meanwhile.
  const unwritten = await c.env.API.unwritten(id);
  const charges = new Map<string, Charge>(
    [...(await readCharges(c.env.DB, id, tasks))].map(([task, charge]) => {
      const { held, charged, outcome } = charge;
      return [task, { held, charged, outcome, rescue: rescueText(c, charge) }];
    }),
  );
  for (const { taskId, held, end } of unwritten)
    charges.set(taskId, end ? { held, charged: end.charged, outcome: end.outcome } : { held, charged: null });
  return charges;
}

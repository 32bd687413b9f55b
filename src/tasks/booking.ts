/** What the makers bill for a task's attempts, and when it is known. Pure. */

import { attemptCost, type Billed } from "../catalog/costs.ts";
import { attemptName, type BookedAttempt } from "../db/settled-sums.ts";
import type { Route } from "../catalog/models.ts";
import type { Failed, Succeeded } from "../providers/provider.ts";
import type { FinalTask, Task } from "./record.ts";

const toName = ({ submission }: Pick<Task, "submission">, route: number): string => attemptName(route, submission.routes[route]!);

/** What a maker that succeeded made and reports. */
export const toBilled = ({ outputs, billedOutputs, usage }: Succeeded): Billed => ({
  outputs: billedOutputs ?? outputs.length,
  ...(usage && { usage }),
});

/** What a maker that failed the work bills; undefined if it bills nothing. */
export const toBill = ({ bills_failures: isBilled }: Route, { billed: part, usage }: Failed): Billed | undefined =>
  isBilled || part ? { ...part, ...(usage && { usage }) } : undefined;

/** The cost of an attempt that its maker bills; null if it is not known. */
export const billedCost = ({ submission }: Task, route: number, billed?: Billed): number | null =>
  attemptCost(submission.routes[route]!, submission.kind, submission.parameters, billed);

/** True if the cost of this route's attempt is known. */
export const isBooked = (task: Task, route = task.route): boolean => task.costs?.[toName(task, route)] !== undefined;

/** The task with the cost of an attempt. A later one counts. */
export const booked = <T extends Task>(task: T, cost: number | null, route = task.route): T => ({
  ...task,
  costs: { ...task.costs, [toName(task, route)]: cost },
});

/**
 * The current attempt as one that its maker bills, unless its cost is known. A route without a cost needs no entry: what its completed task
 * costs is not known.
 */
export const billed = <T extends Task>(task: T, made?: Billed): T =>
  task.submission.routes[task.route]?.cost === undefined || isBooked(task) ? task : booked(task, billedCost(task, task.route, made));

/** The attempt as one that the maker has failed: billed only if the route says so. */
export const failedByMaker = <T extends Task>(task: T, route: number, bill: Billed | undefined): T => {
  if (bill) return booked(task, billedCost(task, route, bill), route);
  return isBooked(task, route) ? booked(task, 0, route) : task;
};

/** The attempts of a final task for its entry in the ledger; the task ended with the last one. */
export function toAttempts(task: FinalTask): BookedAttempt[] {
  const last = toName(task, task.route);
  const others = Object.entries(task.costs ?? {}).filter(([name]) => name !== last);
  const isUnknown = task.status === "completed" && task.submission.routes[task.route]?.cost === undefined;
  const cost = task.costs?.[last] ?? (isUnknown || isBooked(task) ? null : 0);
  return [...others.map(([route, paid]) => ({ route, cost: paid })), { route: last, cost }];
}

/** The cost of an attempt that is known after the task's end, for the ledger. */
export const lateAttempt = (task: Task, route: number, cost: number | null): BookedAttempt => ({ route: toName(task, route), cost });

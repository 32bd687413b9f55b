/** What a task's object asks of providers: the state of accepted work, and to cancel or erase it. */

import { logFields, toCallAttributes } from "../log-fields.ts";
import { chargesCancelled } from "../../config.ts";
import { alert } from "../../base/log.ts";
import { providerNamed } from "../../providers/index.ts";
import type { Failed, Operation, Provider } from "../../providers/provider.ts";
import { withTimeout } from "../../providers/shared/http.ts";
import { billedCost, toBill } from "../booking.ts";
import { currentRoute, type OpenTask, type Task } from "../record.ts";
import { withSpan } from "../../tracing.ts";

/** The time limit of each request. */
const timeoutMs = 10_000;

/** The provider of the current route. Throws if the operator has switched it off. */
const currentProvider = (task: Task, env: Env): Provider => providerNamed(env, currentRoute(task).provider);

/** How the provider of the current route starts work. A start at a provider that is switched off is leased too: the consumer reports the fault, and the task moves to its next route. */
export function currentTraits(task: Task, env: Env): Pick<Provider, "repeatable" | "reportsProgress" | "startTimeoutMs"> {
  try {
    return currentProvider(task, env);
  } catch {
    return { repeatable: false, reportsProgress: false, startTimeoutMs: () => 0 };
  }
}

/** The provider's answer about the task's operation. Throws if it gives none. */
export const poll = (task: Task, env: Env) =>
  withSpan("provider", toCallAttributes(task), async () => withTimeout(currentProvider(task, env).poll(task.operation!), timeoutMs));

/**
 * Cancels the task's work at its providers, on this and earlier routes, and says whether that costs the task's price: it does if the operator
 * charges for accepted work (`CANCEL_CHARGE`) and one of the providers cannot stop it (any more), is switched off or does not answer. Adds to
 * `stopped` what the makers have failed or stopped, and what they bill for it, in millionths; null if that is not known yet.
 */
export async function isChargedWhenCancelled(task: OpenTask, env: Env, stopped: Map<Operation, number | null>): Promise<boolean> {
  if (!chargesCancelled(env)) return false;
  if (task.step.do.startsWith("collect")) return true;
  const works = [task, ...(task.earlier ?? []).map(({ route, operation }) => ({ ...task, route, operation }))];
  return (await Promise.all(works.map((work) => isMadeAnyway(work, env, stopped)))).includes(true);
}

async function isMadeAnyway(task: OpenTask, env: Env, stopped: Map<Operation, number | null>): Promise<boolean> {
  const { operation } = task;
  if (operation === undefined || stopped.has(operation)) return false;
  // Polled first: some makers delete work that has ended by the same call that cancels, and failed work costs nothing.
  const answer = await poll(task, env).catch(() => undefined);
  if (answer?.status === "succeeded") return true;
  const ended = answer?.status === "failed" ? { cost: failureCost(task, answer) } : await cancelUpstream(task, env);
  if (!ended) return true;
  stopped.set(operation, ended.cost);
  return false;
}

/** Work that its maker stopped, and what that bills nevertheless, in millionths; null if it is not known yet. */
export interface Stopped {
  cost: number | null;
}

/** What a maker bills for work that it failed or stopped. A route without a cost needs no entry. */
export function failureCost(task: Task, failure: Failed): number | null {
  const route = currentRoute(task);
  const bill = route.cost && toBill(route, failure);
  return bill ? billedCost(task, task.route, bill) : 0;
}

/** Best effort: the caller's charge is decided, this only reduces the operator's bill. Returns undefined if the provider did not stop the work. */
export const cancelUpstream = (task: Task, env: Env): Promise<Stopped | undefined> =>
  endUpstream("cancel", task, env, async (provider, operation) => {
    const answer = (await provider.cancel?.(operation)) ?? false;
    if (answer === false) return undefined;
    return { cost: answer === true ? 0 : failureCost(task, answer) };
  });

/** Best effort: a provider that can erase ended work also forgets it after a while. */
export const eraseUpstream = (task: Task, env: Env): Promise<void> =>
  endUpstream("erase", task, env, async (provider, operation) => provider.erase?.(operation));

async function endUpstream<T>(
  action: "cancel" | "erase",
  task: Task,
  env: Env,
  end: (provider: Provider, operation: Operation) => Promise<T>,
): Promise<T | undefined> {
  if (task.operation === undefined) return undefined;
  try {
    return await withTimeout(end(currentProvider(task, env), task.operation), timeoutMs);
  } catch (error) {
    alert(action, { ...logFields(task), outcome: "fault" }, error);
    return undefined;
  }
}

/**
 * Cancels work that a provider accepted after its task had ended. The operator may be billed for it and the caller is not: the log
 * line has the price that the caller would have paid, in millionths. Returns undefined if the provider did not stop the work.
 */
export async function cancelLate(task: Task, operation: Operation, env: Env): Promise<Stopped | undefined> {
  const stopped = await cancelUpstream({ ...task, operation }, env);
  alert("cancel", { ...logFields(task), outcome: stopped ? "late_cancelled" : "late_not_cancelled", cost: task.submission.price });
  return stopped;
}

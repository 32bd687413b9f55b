/** What a task's object asks of providers: the state of accepted work, and to cancel or erase it. */

import { logFields, toCallAttributes } from "../log-fields.ts";
import { chargesCancelled } from "../../config.ts";
import { alert } from "../../base/log.ts";
import { providerNamed } from "../../providers/index.ts";
import type { Operation, Provider } from "../../providers/provider.ts";
import { withTimeout } from "../../providers/shared/http.ts";
import { currentRoute, type OpenTask, type Task } from "../record.ts";
import { withSpan } from "../../tracing.ts";

/** The time limit of each request. */
const timeoutMs = 10_000;

/** The provider of the current route. Throws if the operator has switched it off. */
const currentProvider = (task: Task, env: Env): Provider => providerNamed(env, currentRoute(task).provider);

/** How the provider of the current route starts work. One that is switched off can be leased too: the consumer finds out, and its report leads to the next route. */
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
 * Cancelling this task costs its price: the operator charges for work that a provider has accepted, on this or an earlier route, and a provider
 * cannot stop it (any more), is switched off or does not answer. Cancels at the providers, because only their answers decide that. Adds to
 * `stopped` the operations that their makers do not make or bill.
 */
export async function isChargedWhenCancelled(task: OpenTask, env: Env, stopped: Set<Operation>): Promise<boolean> {
  if (!chargesCancelled(env)) return false;
  if (task.step.do.startsWith("collect")) return true;
  const works = [task, ...(task.earlier ?? []).map(({ route, operation }) => ({ ...task, route, operation }))];
  return (await Promise.all(works.map((work) => isMadeAnyway(work, env, stopped)))).includes(true);
}

async function isMadeAnyway(task: OpenTask, env: Env, stopped: Set<Operation>): Promise<boolean> {
  const { operation } = task;
  if (operation === undefined || stopped.has(operation)) return false;
  // Polled first: some makers delete work that has ended by the same call that cancels, and failed work costs nothing.
  const status = await poll(task, env).then(
    (answer) => answer.status,
    () => "unknown",
  );
  if (status === "succeeded" || (status !== "failed" && !(await cancelUpstream(task, env)))) return true;
  // A failure that its maker bills is not known here: the operation counts as not stopped.
  if (status !== "failed" || !currentRoute(task).bills_failures) stopped.add(operation);
  return false;
}

/** Best effort: the caller's charge is decided, this only reduces the operator's bill. Returns true if the provider stopped the work. */
export const cancelUpstream = (task: Task, env: Env): Promise<boolean> =>
  endUpstream("cancel", task, env, async (provider, operation) => (await provider.cancel?.(operation)) ?? false);

/** Best effort: a provider that can erase ended work also forgets it after a while. */
export const eraseUpstream = (task: Task, env: Env): Promise<boolean> =>
  endUpstream("erase", task, env, async (provider, operation) => {
    await provider.erase?.(operation);
    return true;
  });

async function endUpstream(
  action: "cancel" | "erase",
  task: Task,
  env: Env,
  end: (provider: Provider, operation: Operation) => Promise<boolean>,
): Promise<boolean> {
  if (task.operation === undefined) return false;
  try {
    return await withTimeout(end(currentProvider(task, env), task.operation), timeoutMs);
  } catch (error) {
    alert(action, { ...logFields(task), outcome: "fault" }, error);
    return false;
  }
}

/**
 * Cancels work that a provider accepted after its task had ended. The operator may be billed for it and the caller is not: the log
 * line has the price that the caller would have paid, in millionths. True if the provider stopped the work.
 */
export async function cancelLate(task: Task, operation: Operation, env: Env): Promise<boolean> {
  const isCancelled = await cancelUpstream({ ...task, operation }, env);
  alert("cancel", { ...logFields(task), outcome: isCancelled ? "late_cancelled" : "late_not_cancelled", cost: task.submission.price });
  return isCancelled;
}

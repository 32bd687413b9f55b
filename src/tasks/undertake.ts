/** Runs a start in the task's own object, because no consumer has claimed it in time. */

import { alert } from "../log.ts";
import { perform } from "./dispatch.ts";
import type { RecordStore } from "./record-store.ts";
import { logFields } from "./settle.ts";
import { wakeAt } from "./task.ts";
import type { StepOutcome, Work } from "./work.ts";
import { logStep } from "../step-log.ts";

/**
 * Does the work under a lease, like a consumer: a message that arrives meanwhile finds no waiting work. No other alarm fires while this one
 * runs, so it waits for the start only until another step is due or the task has ended.
 */
export async function undertake(
  work: Work,
  object: { holdsLease(lease: string): Promise<boolean>; report(lease: string, outcome: StepOutcome): Promise<boolean> },
  record: RecordStore,
  env: Env,
): Promise<void> {
  logStep(env, "dispatch", { ...logFields(work.task), outcome: "undertaken" });
  const released = new Promise<void>((resolve) => (record.onFinal = resolve));
  const timeout = new AbortController();
  const started = perform(work, env, object);
  const waited = scheduler.wait(Math.max(0, wakeAt(work.task) - Date.now()), { signal: timeout.signal });
  waited.catch(() => undefined); // aborted: the start was faster
  try {
    await Promise.race([started, released, waited]);
  } finally {
    record.onFinal = undefined;
    timeout.abort();
    started.catch((error: unknown) => alert("dispatch", { ...logFields(work.task), outcome: "fault" }, error));
  }
}

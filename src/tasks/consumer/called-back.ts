/** A maker has called the URL of a task: the request of its call collects finished work. */

import { perform } from "./perform.ts";
import { openTask, toLeaseGiver } from "./task-stub.ts";
import { Semaphore } from "../../base/concurrency.ts";

/** Outputs must be stored after this time: the platform ends a request half a minute after its answer. */
const collectMs = 27_000;
/** Each needs a buffer of up to 8 MB, beside those of the isolate's other requests. */
const collections = new Semaphore({ maxAtOnce: 4, maxHoldMs: 60_000, maxWaitMs: 0 });

/**
 * The task's object polls the provider. If the work is finished, it leases the collection to this request: that saves a message of the queue,
 * three operations, and the wait for its consumer. The window: neither `collect` nor the lease is written, so after a crash of the object the
 * record is still at `poll`, and the poll is repeated. If only this request ends early, the lease lapses, and the object sends the message
 * of a collection. If this isolate stores the outputs of too many tasks, the object sends the message at once.
 */
export async function continueCalledBack(taskId: string, provider: string, env: Env): Promise<void> {
  const until = Date.now() + collectMs;
  const permit = await collections.tryEnter();
  try {
    const work = await openTask(taskId, env)?.calledBack(provider, permit !== undefined);
    if (work) await perform({ ...work, until }, env, toLeaseGiver(taskId, env));
  } finally {
    permit?.release();
  }
}

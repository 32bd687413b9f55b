/** Polls every accepted task until it is final, so that the time of its end is known. */

import { setTimeout as sleep } from "node:timers/promises";
import type { History, Kind } from "./history.ts";
import type { Queries } from "./queries.ts";

const roundMs = 1_000;
const atOnce = 8;
/** The longest duration of a task from its submission, and the time in which its end must be visible. */
const deadlineMs: Record<Kind, number> = { image: 120_000, character: 300_000, video: 600_000, remix: 600_000 };
const graceMs = 15_000;

/** Polls all open tasks until the load ends. */
export async function watch(history: History, queries: Queries, gateway: { readonly isUp: boolean }, stopping: AbortSignal): Promise<void> {
  while (!stopping.aborted) {
    await forEachLimited(gateway.isUp ? history.open() : [], async (task) => {
      await queries.task(task).catch((error: unknown) => history.fault(`${task.id}: ${String(error)}`));
    });
    await sleep(roundMs);
  }
}

/** Waits until all tasks are final. A task past its deadline is a fault, and is not waited for. */
export async function untilAllFinal(history: History, stopping: AbortSignal): Promise<void> {
  for (;;) {
    const open = history.open();
    const late = open.filter(({ order, acceptedAt }) => Date.now() > acceptedAt + deadlineMs[order.kind] + graceMs);
    if (stopping.aborted || late.length === open.length) {
      for (const { id, order, sight } of late)
        history.fault(`${id} (${order.kind}) is past its deadline and still ${sight.status} ${sight.progress}`);
      return;
    }
    await sleep(roundMs / 2);
  }
}

/** Runs the work for each item, a few at a time. */
export async function forEachLimited<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items];
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
    }),
  );
}

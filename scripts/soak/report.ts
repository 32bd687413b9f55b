/** A short report of a run. */

import type { Crash } from "../engine/crashing-gateway.ts";
import type { History, KnownTask } from "../engine/history.ts";
import type { Loss } from "../engine/http-client.ts";

// An outage lasts a little longer at both ends: requests fail while the processes end, and the first answers are slow.
const beforeMs = 250;
const afterMs = 5_000;

/** The time from the restart after a crash to the end of a task that was open then. */
export interface Recovery {
  task: KnownTask;
  seconds: number;
}

/** For every task that was open at a crash: the time from the last restart before its end. Slowest first. */
export function recoveries(tasks: Iterable<KnownTask>, crashes: readonly Crash[]): Recovery[] {
  const found: Recovery[] = [];
  for (const task of tasks) {
    const { acceptedAt, final } = task;
    const crash = final && crashes.findLast(({ at }) => acceptedAt < at && at < final.at);
    if (crash) found.push({ task, seconds: Math.max(0, (final.at - crash.upAt) / 1000) });
  }
  return found.sort((a, b) => b.seconds - a.seconds);
}

/** Requests that were lost while the gateway was running. */
export const lossesWithoutCrash = (losses: readonly Loss[], crashes: readonly Crash[]): Loss[] =>
  losses.filter(({ from, to }) => !crashes.some((crash) => to >= crash.at - beforeMs && from <= crash.upAt + afterMs));

/** Formats the report. */
export function report(history: History, crashes: readonly Crash[], facts: { requests: number; losses: number; files: number }): string {
  const tasks = [...history.tasks.values()];
  const ends = new Map<string, number>();
  for (const { order, final } of tasks) {
    const name = `${order.kind} ${final?.status ?? "open"}${final?.error ? ` (${final.error})` : ""}`;
    ends.set(name, (ends.get(name) ?? 0) + 1);
  }
  const recovered = recoveries(tasks, crashes);
  const within = (low: number, high: number) => recovered.filter(({ seconds }) => seconds >= low && seconds < high).length;
  const starts = crashes.map(({ at, upAt }) => (upAt - at) / 1000);
  const slowest = recovered
    .slice(0, 3)
    .map(({ task, seconds }) => `${seconds.toFixed(1)} s (${task.order.kind}, ${task.final?.error ?? "completed"})`);
  const longest = Math.max(0, ...tasks.map(({ acceptedAt, final }) => ((final?.at ?? acceptedAt) - acceptedAt) / 1000));
  const keyed = history.orders.filter(({ idempotencyKey }) => idempotencyKey !== undefined).length;
  return [
    `${facts.requests} requests, ${facts.losses} of them lost; ${history.orders.length} submissions (${keyed} with a key), ${tasks.length} accepted`,
    `${crashes.length} kills; down for ${starts.map((seconds) => seconds.toFixed(1)).join(", ")} s`,
    `tasks: ${formatCounts(ends)}`,
    `also: ${formatCounts(history.counts)}`,
    `open at a kill: ${recovered.length} tasks; final after the restart within 10 s ${within(0, 10)}, 40 s ${within(10, 40)}, 80 s ${within(40, 80)}, longer ${within(80, Infinity)}`,
    `slowest recoveries: ${slowest.join(", ") || "none"}; longest task ${longest.toFixed(1)} s from its acceptance`,
    `${facts.files} files compared with their digests`,
  ].join("\n");
}

const formatCounts = (counts: Map<string, number>) =>
  [...counts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, count]) => `${name} ${count}`)
    .join(", ");

/** Loads two servers in turn and combines the measurements. */

import type { Call, Client } from "./load.ts";
import { cpuUs } from "./process-tree.ts";
import type { Server } from "./server.ts";

/** One side of a comparison. */
export interface Side {
  server: Pick<Server, "processes">;
  client: Client;
  calls: Call[];
}

/** The size of one measurement. */
export interface Slices {
  /** Measured turns of each side. */
  turns: number;
  /** Warm-up turns, which are not measured. */
  warmUps: number;
  requests: number;
  /** The time after which no further turn begins, warm-ups included. */
  forMs?: number;
}

/** One turn of one side: its requests, CPU microseconds per request, median latency in milliseconds, requests per second. */
export interface Turn {
  requests: number;
  cpu: number;
  p50: number;
  rate: number;
}

/** The turns of both sides, and the CPU ratio of each pair of adjacent turns. */
export interface Comparison {
  own: Turn[];
  floor: Turn[];
  ratios: number[];
}

/** The quantile of the values at this share. */
export function quantile(values: number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (sorted.length - 1) * part;
  const low = sorted[Math.floor(at)] ?? Number.NaN;
  return low + ((sorted[Math.ceil(at)] ?? low) - low) * (at % 1);
}

export const median = (values: number[]) => quantile(values, 0.5);

/** The median and the quartiles: "1.20 (1.10 to 1.31)". */
export function spread(values: number[], digits: number): string {
  const [middle, low, high] = [0.5, 0.25, 0.75].map((part) => quantile(values, part).toFixed(digits));
  return `${middle} (${low} to ${high})`;
}

/** Sends this many requests, the last of them before `forMs` have passed. */
export async function takeTurn({ server, client, calls }: Side, requests: number, forMs?: number): Promise<Turn> {
  const [before, started] = [await cpuUs(server.processes), performance.now()];
  const latencies = await client.run(calls, requests, forMs);
  const seconds = (performance.now() - started) / 1000;
  const used = (await cpuUs(server.processes)) - before;
  return { requests: latencies.length, cpu: used / latencies.length, p50: median(latencies), rate: latencies.length / seconds };
}

/** Own, floor, own, floor, ... */
export async function compare(own: Side, floor: Side, { turns, warmUps, requests, forMs = Infinity }: Slices): Promise<Comparison> {
  const found: Comparison = { own: [], floor: [], ratios: [] };
  const until = performance.now() + forMs;
  for (let turn = -warmUps; turn < turns && performance.now() < until; turn++) {
    const [mine, least] = [await takeTurn(own, requests), await takeTurn(floor, requests)];
    if (turn < 0) continue;
    const before = found.floor.at(-1);
    if (before) found.ratios.push(mine.cpu / before.cpu);
    found.ratios.push(mine.cpu / least.cpu);
    found.own.push(mine);
    found.floor.push(least);
  }
  return found;
}

/** Several runs of the same comparison, combined. */
export const joined = (parts: Comparison[]): Comparison => ({
  own: parts.flatMap((part) => part.own),
  floor: parts.flatMap((part) => part.floor),
  ratios: parts.flatMap((part) => part.ratios),
});

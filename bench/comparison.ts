/** Two servers under the same load in turns, and what the turns say together. */

import type { Call, Client } from "./load.ts";
import { cpuUs } from "./process-tree.ts";
import type { Server } from "./server.ts";

/** One side of a comparison. */
export interface Side {
  server: Server;
  client: Client;
  calls: Call[];
}

/** How much of one side's load is measured at once. */
export interface Slices {
  /** Turns of each side that count. */
  turns: number;
  /** Turns before them that do not. */
  warmUps: number;
  requests: number;
  /** When no further turn begins, warm-ups included. */
  forMs?: number;
}

/** One turn of one side: CPU microseconds per request, the median latency in milliseconds, requests per second. */
interface Turn {
  cpu: number;
  p50: number;
  rate: number;
}

/** The turns of both sides, and the CPU ratio of every two that were neighbours. */
export interface Comparison {
  own: Turn[];
  floor: Turn[];
  ratios: number[];
}

/** The value below which this part of the values lies. */
export function quantile(values: number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (sorted.length - 1) * part;
  const low = sorted[Math.floor(at)] ?? Number.NaN;
  return low + ((sorted[Math.ceil(at)] ?? low) - low) * (at % 1);
}

async function takeTurn({ server, client, calls }: Side, requests: number): Promise<Turn> {
  const [before, started] = [await cpuUs(server.processes), performance.now()];
  const latencies = await client.run(calls, requests);
  const seconds = (performance.now() - started) / 1000;
  return { cpu: ((await cpuUs(server.processes)) - before) / requests, p50: quantile(latencies, 0.5), rate: requests / seconds };
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

/** Several runs of the same comparison as one. */
export const joined = (parts: Comparison[]): Comparison => ({
  own: parts.flatMap((part) => part.own),
  floor: parts.flatMap((part) => part.floor),
  ratios: parts.flatMap((part) => part.ratios),
});

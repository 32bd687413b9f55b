/** The tables of the comparison, in Markdown. */

import { table } from "../../scripts/support/table.ts";
import { median, spread, type Turn } from "../comparison.ts";
import { chunks } from "./chats.ts";
import type { Delays } from "./delays.ts";
import type { Load, Turns } from "./rounds.ts";

const toName = ({ kind, connections }: Load) => `${kind}, ${connections} ${connections === 1 ? "connection" : "connections"}`;

/** The costs of each gateway: the medians of all rounds. */
export function absolute(results: Map<Load, Turns>, names: string[]): string {
  const cells = (turns: Turn[] = []) => [median(turns.map(({ cpu }) => cpu)).toFixed(0), median(turns.map(({ rate }) => rate)).toFixed(0)];
  const header = ["CPU us per request, requests/s", ...names.flatMap((name) => [name, ""])];
  return table(
    header,
    [...results].map(([load, turns]) => [toName(load), ...names.flatMap((name) => cells(turns[name]))]),
  );
}

/** Our gateway's cost as a multiple of each other gateway's, turn by turn: median and quartiles. */
export function ratios(results: Map<Load, Turns>, own: string, others: string[]): string {
  const compare = (turns: Turns, other: string, field: "cpu" | "rate") =>
    (turns[own] ?? []).map((turn, at) => turn[field] / (turns[other]?.[at]?.[field] ?? Number.NaN));
  const header = [`${own} as a multiple of`, ...others.flatMap((name) => [`${name}: CPU`, `${name}: requests/s`])];
  const rows = [...results].map(([load, turns]) => [
    toName(load),
    ...others.flatMap((other) => [spread(compare(turns, other, "cpu"), 2), spread(compare(turns, other, "rate"), 2)]),
  ]);
  return table(header, rows);
}

/** CPU per chunk of a stream: the additional cost of a streamed answer over a whole one in the same round, divided by its chunks. */
export function perChunk(results: Map<Load, Turns>, names: string[]): string {
  const find = (kind: Load["kind"], connections: number) =>
    [...results].find(([load]) => load.kind === kind && load.connections === connections)?.[1] ?? {};
  const streamed = [...results].filter(([{ kind }]) => kind !== "whole");
  const rows = streamed.map(([load, turns]) => [
    toName(load),
    ...names.map((name) => {
      const whole = find("whole", load.connections)[name] ?? [];
      const costs = (turns[name] ?? []).map(({ cpu }, at) => (cpu - (whole[at]?.cpu ?? Number.NaN)) / chunks);
      return spread(costs, 1);
    }),
  ]);
  return table(["CPU us per chunk", ...names], rows);
}

/** The delay of chunks: in each gateway, and above another one's in the same round. */
export function delayTable(results: Delays, names: string[], beside: string): string {
  const rows = [...results].flatMap(([streams, delays]) =>
    (["p50", "p99"] as const).map((field) => [
      `${streams} ${streams === 1 ? "stream" : "streams"}, ${field}`,
      ...names.map((name) => {
        const own = (delays[name] ?? []).map((delay) => delay[field]);
        const above = own.map((ms, at) => ms - (delays[beside]?.[at]?.[field] ?? Number.NaN));
        return name === beside ? spread(own, 1) : `${median(own).toFixed(1)}, ${median(above) < 0 ? "" : "+"}${spread(above, 1)}`;
      }),
    ]),
  );
  return table([`ms from the upstream's chunk, above the ${beside}`, ...names], rows);
}

/** Memory and start-up of a program. */
export interface Footprint {
  name: string;
  startMs: number[];
  idleMiB: number;
  loadedMiB: number;
}

export const footprints = (of: Footprint[]): string =>
  table(
    ["", "start-up ms", "memory MiB, idle", "after the load"],
    of.map(({ name, startMs, idleMiB, loadedMiB }) => [name, spread(startMs, 0), idleMiB.toFixed(0), loadedMiB.toFixed(0)]),
  );

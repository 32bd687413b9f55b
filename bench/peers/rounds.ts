/** The measurement: in each round every gateway takes a turn with every kind of chat and number of connections, one directly after the other. */

import { setTimeout as sleep } from "node:timers/promises";
import { takeTurn, type Turn } from "../comparison.ts";
import { type Call, Client } from "../load.ts";
import { cpuUs } from "../process-tree.ts";
import { checkAnswer, type Kind, toBody } from "./chats.ts";

/** A running gateway. */
export interface Gateway {
  name: string;
  url: string;
  processes: number[];
  /** The headers of each caller; requests take them in turn. */
  callers: Record<string, string>[];
  model: string;
  /** Milliseconds after a turn in which the gateway writes what it gathered during the turn. */
  settlesMs?: number;
}

/** A kind of chat over a number of connections. */
export interface Load {
  kind: Kind;
  connections: number;
}

const loads: Load[] = [
  ...[1, 16, 64].map((connections) => ({ kind: "whole", connections }) as const),
  ...[1, 16, 64].map((connections) => ({ kind: "burst", connections }) as const),
  { kind: "paced", connections: 16 },
];

/** The turns of each gateway, by its name: one of each round. */
export type Turns = Record<string, Turn[]>;

/** The size of the measurement. */
export interface Size {
  rounds: number;
  /** The time in which a turn sends requests; requests still running after it are awaited. */
  turnMs: number;
  maxRequests: number;
}

export const toCalls = ({ callers, model }: Pick<Gateway, "callers" | "model">, kind: Kind): Call[] =>
  callers.map((headers) => ({
    method: "POST",
    path: "/v1/chat/completions",
    headers: { ...headers, accept: "application/json", "user-agent": "bench/1" },
    body: toBody(model, kind),
  }));

/** Throws unless the gateway forwards every kind of answer completely. */
export async function checkGateway(gateway: Gateway): Promise<void> {
  const client = new Client(gateway.url, 1);
  try {
    for (const kind of ["whole", "burst", "paced", "timed"] as const) checkAnswer(await client.send(toCalls(gateway, kind).at(0)!), kind);
  } finally {
    client.close();
  }
}

/** What a gateway needs after its turn, in microseconds of CPU for each request: the sum until it has written what it gathered. */
async function afterTurn({ processes, settlesMs = 0 }: Gateway, ended: { at: number; cpu: number; requests: number }): Promise<number> {
  if (settlesMs === 0) return 0;
  await sleep(Math.max(0, ended.at + settlesMs - performance.now()));
  return ((await cpuUs(processes)) - ended.cpu) / ended.requests;
}

/**
 * Measures all loads. Each round begins with another gateway; the first round is a warm-up and does not count. The CPU of a gateway that
 * gathers what it writes includes what it does after its turn, while the others take theirs.
 */
export async function measure(gateways: Gateway[], size: Size, note: (text: string) => void): Promise<Map<Load, Turns>> {
  const results = new Map<Load, Turns>(loads.map((load) => [load, Object.fromEntries(gateways.map(({ name }) => [name, []]))]));
  for (let round = -1; round < size.rounds; round++) {
    note(round < 0 ? "warm-up" : `round ${round + 1} of ${size.rounds}`);
    for (const [load, turns] of results) {
      const after: (() => Promise<void>)[] = [];
      for (const gateway of inTurn(gateways, round)) {
        const client = new Client(gateway.url, load.connections);
        const side = { server: gateway, client, calls: toCalls(gateway, load.kind) };
        const turn = await takeTurn(side, size.maxRequests, size.turnMs);
        client.close();
        if (round < 0) continue;
        turns[gateway.name]?.push(turn);
        const ended = { at: performance.now(), cpu: await cpuUs(gateway.processes), requests: turn.requests };
        after.push(async () => void (turn.cpu += await afterTurn(gateway, ended)));
      }
      for (const add of after) await add();
    }
  }
  return results;
}

/** The gateways, beginning with another one in each round. */
export function inTurn(gateways: Gateway[], round: number): Gateway[] {
  const first = (round + gateways.length) % gateways.length;
  return [...gateways.slice(first), ...gateways.slice(0, first)];
}

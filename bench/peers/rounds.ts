/** The measurement: in each round every gateway takes a turn with every kind of chat and number of connections, one directly after the other. */

import { quantile } from "../comparison.ts";
import { type Call, Client } from "../load.ts";
import { cpuUs } from "../process-tree.ts";
import { checkAnswer, type Kind, toBody } from "./chats.ts";

/** A running gateway. */
export interface Gateway {
  name: string;
  url: string;
  processes: number[];
  headers: Record<string, string>;
  model: string;
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

/** One turn: CPU microseconds per request, requests per second, median latency in milliseconds. */
export interface Turn {
  cpu: number;
  rate: number;
  p50: number;
}

/** The turns of each gateway, by its name: one of each round. */
export type Turns = Record<string, Turn[]>;

/** The size of the measurement. */
export interface Size {
  rounds: number;
  /** The time in which a turn sends requests; requests still running after it are awaited. */
  turnMs: number;
  maxRequests: number;
}

const toCall = ({ headers, model }: Gateway, kind: Kind): Call => ({
  method: "POST",
  path: "/v1/chat/completions",
  headers: { ...headers, accept: "application/json", "user-agent": "bench/1" },
  body: toBody(model, kind),
});

/** Throws unless the gateway forwards every kind of answer completely. */
export async function checkGateway(gateway: Gateway): Promise<void> {
  const client = new Client(gateway.url, 1);
  try {
    for (const kind of ["whole", "burst", "paced"] as const) checkAnswer(await client.send(toCall(gateway, kind)), kind);
  } finally {
    client.close();
  }
}

async function takeTurn(gateway: Gateway, { kind, connections }: Load, { turnMs, maxRequests }: Size): Promise<Turn> {
  const client = new Client(gateway.url, connections);
  try {
    const call = toCall(gateway, kind);
    const [before, started] = [await cpuUs(gateway.processes), performance.now()];
    const latencies = await client.run([call], maxRequests, turnMs);
    const seconds = (performance.now() - started) / 1000;
    const used = (await cpuUs(gateway.processes)) - before;
    return { cpu: used / latencies.length, rate: latencies.length / seconds, p50: quantile(latencies, 0.5) };
  } finally {
    client.close();
  }
}

/** Measures all loads. Each round begins with another gateway; the first round is a warm-up and does not count. */
export async function measure(gateways: Gateway[], size: Size, note: (text: string) => void): Promise<Map<Load, Turns>> {
  const results = new Map<Load, Turns>(loads.map((load) => [load, Object.fromEntries(gateways.map(({ name }) => [name, []]))]));
  for (let round = -1; round < size.rounds; round++) {
    note(round < 0 ? "warm-up" : `round ${round + 1} of ${size.rounds}`);
    const first = (round + gateways.length) % gateways.length;
    for (const [load, turns] of results)
      for (const gateway of [...gateways.slice(first), ...gateways.slice(0, first)]) {
        const turn = await takeTurn(gateway, load, size);
        if (round >= 0) turns[gateway.name]?.push(turn);
      }
  }
  return results;
}

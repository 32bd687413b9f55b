/** How much later than the upstream wrote it each chunk of a stream arrives: streams of a chunk every ten milliseconds, each with the time of its writing. */

import { quantile } from "../comparison.ts";
import { Client } from "../load.ts";
import { now, readTimes } from "./chats.ts";
import { type Gateway, inTurn, toCalls } from "./rounds.ts";

const allStreams = [1, 16];
/** A lone stream is short: several follow each other. */
const minChunks = 400;

/** Milliseconds in one round. */
interface Delay {
  p50: number;
  p99: number;
}

/** The delays of each gateway by its name, one of each round, for a number of streams at once. */
export type Delays = Map<number, Record<string, Delay[]>>;

/** Measures the delays of each gateway in turn. The first round is a warm-up and does not count. */
export async function measureDelays(gateways: Gateway[], rounds: number): Promise<Delays> {
  const results: Delays = new Map(allStreams.map((streams) => [streams, Object.fromEntries(gateways.map(({ name }) => [name, []]))]));
  for (let round = -1; round < rounds; round++)
    for (const [streams, delays] of results)
      for (const gateway of inTurn(gateways, round)) {
        const seen = await listen(gateway, streams);
        if (round >= 0) delays[gateway.name]?.push({ p50: quantile(seen, 0.5), p99: quantile(seen, 0.99) });
      }
  return results;
}

async function listen(gateway: Gateway, streams: number): Promise<number[]> {
  const client = new Client(gateway.url, streams);
  const calls = toCalls(gateway, "timed");
  const seen: number[] = [];
  try {
    for (let sent = 0; seen.length < minChunks; sent += streams)
      await Promise.all(
        Array.from({ length: streams }, (_, at) => {
          let rest = "";
          return client.send(calls.at((sent + at) % calls.length)!, (part) => {
            const at = now();
            const text = rest + part;
            const end = text.lastIndexOf("\n") + 1;
            rest = text.slice(end);
            for (const written of readTimes(text.slice(0, end))) seen.push(at - written);
          });
        }),
      );
  } finally {
    client.close();
  }
  return seen;
}

/**
 * `npm run bench -- peers`: chats through this gateway, other gateways and a bare pass-through, against one upstream: CPU per request, requests a
 * second, the delay of streams, memory, start-up. `PEERS_DIR` keeps what is installed; `--rounds=3` takes fewer than nine rounds, `--frame` adds a Worker that only parses and answers, `--quick` is a smoke run. On a quiet machine it takes a quarter of an hour.
 */

import { availableParallelism } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { claimPort } from "../../scripts/support/port.ts";
import { root } from "../../scripts/support/wrangler.ts";
import { bundleWorker } from "../build.ts";
import { processesBelow, residentMiB } from "../process-tree.ts";
import { start } from "../programs.ts";
import { startServer } from "../server.ts";
import { startMs } from "../startup.ts";
import { makeTempDir } from "../temporary.ts";
import { installed, type Peer, peers } from "./peers.ts";
import { measureDelays } from "./delays.ts";
import { ownBundle, ownModel, startOurs, startUpstream, tempDir } from "./ours.ts";
import { absolute, delayTable, type Footprint, footprints, perChunk, ratios } from "./report.ts";
import { checkGateway, type Gateway, measure, type Size } from "./rounds.ts";

const { values } = parseArgs({
  options: { rounds: { type: "string", default: "9" }, frame: { type: "boolean" }, quick: { type: "boolean" } },
});
const isQuick = values.quick;
const rounds = Number(values.rounds);
const size: Size = isQuick ? { rounds: 1, turnMs: 150, maxRequests: 200 } : { rounds, turnMs: 600, maxRequests: 5_000 };
const starts = isQuick ? 1 : Math.min(7, rounds);
const note = (text: string) => console.error(`${new Date().toISOString().slice(11, 19)} ${text}`);

const peersDir = process.env["PEERS_DIR"] ?? (await makeTempDir());

/** A measured gateway, with functions to stop it and to start it again for the start-up measurement. */
interface Running {
  gateway: Gateway;
  startMs: () => Promise<number>;
  stop: () => Promise<void>;
}

const upstream = await startUpstream();

/** Longer than this gateway gathers the console's log of requests and what wallets write to D1. */
const settlesMs = 11_000;

/** This gateway with the keys of a number of accounts. */
async function startOwn(name: string, accounts: number): Promise<Running> {
  const { server, callers } = await startOurs(upstream.url, accounts);
  return {
    gateway: { name, url: server.url, processes: server.processes, callers, model: ownModel, settlesMs },
    startMs: async () => startMs(await ownBundle()),
    stop: server.stop,
  };
}

/** A Worker that is only measured. */
async function startFloor(name: string, config: string, main: string, more: Record<string, string> = {}): Promise<Running> {
  const bundled = await bundleWorker(join(root, "bench/peers", config), tempDir, { main });
  const server = await startServer(tempDir, {
    ...bundled,
    consumes: false,
    network: true,
    bindings: { UPSTREAM: upstream.url, ...more },
  });
  const gateway = { name, url: server.url, processes: server.processes, callers: [{}], model: "upstream-model" };
  return { gateway, startMs: () => startMs(bundled), stop: server.stop };
}

const startLeast = () => startFloor("least gateway", "least.toml", "least.ts");
const startFrame = () => startFloor("parses and answers", "least.toml", "least.ts", { HOLDS: "off" });
const startPass = () => startFloor("pass-through", "wrangler.toml", "pass.ts");

async function startPeer(peer: Peer): Promise<Running> {
  const dir = await installed(peer, peersDir);
  const run = async () => {
    const port = await claimPort(0);
    return start(await peer.command(dir, port, upstream.url), port, "/");
  };
  const { child, url, stop } = await run();
  const processes = [child.pid!, ...(await processesBelow(child.pid!))];
  return {
    gateway: { name: peer.name, url, processes, callers: [peer.headers(upstream.url)], model: peer.model },
    async startMs() {
      const again = await run();
      await again.stop();
      return again.startMs;
    },
    stop,
  };
}

/** This gateway with the keys of a hundred accounts in turn. */
const hundred = "ours, 100 accounts";
const running: Running[] = [];
const skipped = ["Bifrost is skipped: its npm package fetches the program from a host of its own, which is no package registry"];
for (const [name, starting] of [
  ["ours", () => startOwn("ours", 1)],
  [hundred, () => startOwn(hundred, 100)],
  ...peers.map((peer) => [`${peer.name} ${peer.version}`, () => startPeer(peer)] as const),
  ["least gateway", startLeast],
  ...(values.frame ? [["parses and answers", startFrame] as const] : []),
  ["pass-through", startPass],
] as const) {
  note(`starts ${name}`);
  let one: Running | undefined;
  try {
    one = await starting();
    await checkGateway(one.gateway);
    running.push(one);
  } catch (error) {
    await one?.stop();
    if (!peers.some((peer) => name.startsWith(peer.name))) throw error;
    skipped.push(`${name} is skipped: ${(error as Error).message.split("\n", 1)[0]}`);
  }
}

const began = performance.now();
const measured = await Promise.all(
  running.map(async (one) => {
    const { name, processes } = one.gateway;
    const footprint: Footprint = { name, startMs: [], idleMiB: await residentMiB(processes), loadedMiB: Number.NaN };
    return { one, footprint };
  }),
);
note("delays of streams");
const delays = await measureDelays(
  running.map(({ gateway }) => gateway),
  size.rounds,
);
const results = await measure(
  running.map(({ gateway }) => gateway),
  size,
  note,
);
note("start-up");
for (const { one, footprint } of measured) footprint.loadedMiB = await residentMiB(one.gateway.processes);
for (let turn = 0; turn < starts; turn++) for (const { one, footprint } of measured) footprint.startMs.push(await one.startMs());
for (const { stop } of running) await stop();
upstream.stop();

const names = running.map(({ gateway }) => gateway.name);
console.log(
  [
    `${new Date().toISOString().slice(0, 10)}, ${availableParallelism()} cores, Node ${process.versions.node}, ${size.rounds} rounds, ${Math.round((performance.now() - began) / 1000)} s`,
    ratios(results, "ours", names.slice(1)),
    ratios(results, hundred, ["ours", ...names.slice(2)]),
    delayTable(delays, names, "pass-through"),
    absolute(results, names),
    perChunk(results, names),
    footprints(measured.map(({ footprint }) => footprint)),
    ...skipped,
  ].join("\n\n"),
);

/**
 * `npm run bench -- peers`: chats through this gateway, other gateways and a bare pass-through, against one upstream: CPU per request, requests a
 * second, the delay of streams, memory, start-up. `PEERS_DIR` keeps what is installed; `--rounds=3` takes fewer than nine rounds, `--frame` adds a Worker that only parses and answers, `--quick` is a smoke run. On a quiet machine it takes a quarter of an hour.
 */

import { fork } from "node:child_process";
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { claimPort } from "../../scripts/support/port.ts";
import { once } from "../../src/base/once.ts";
import { bundleGateway } from "../build.ts";
import { bundle } from "../../scripts/support/bundles.ts";
import { root } from "../../scripts/support/wrangler.ts";
import { freshHeaders, gatewayBindings } from "../calls.ts";
import { Client } from "../load.ts";
import { processesBelow } from "../process-tree.ts";
import { residentMiB, start } from "../programs.ts";
import { startServer } from "../server.ts";
import { startMs } from "../startup.ts";
import { makeTempDir } from "../temporary.ts";
import { installed, type Peer, peers } from "./peers.ts";
import { measureDelays } from "./delays.ts";
import { absolute, delayTable, type Footprint, footprints, perChunk, ratios } from "./report.ts";
import { checkGateway, type Gateway, measure, type Size } from "./rounds.ts";

const isQuick = process.argv.includes("--quick");
const rounds = Number(/^--rounds=(\d+)$/m.exec(process.argv.join("\n"))?.[1] ?? 9);
const size: Size = isQuick ? { rounds: 1, turnMs: 150, maxRequests: 200 } : { rounds, turnMs: 600, maxRequests: 5_000 };
const starts = isQuick ? 1 : Math.min(7, rounds);
const note = (text: string) => console.error(`${new Date().toISOString().slice(11, 19)} ${text}`);

// Our gateway's state is in memory if possible: the other gateways store nothing, and a disk's delays are not the platform's.
const memory = "/dev/shm";
const tempDir = await makeTempDir(existsSync(memory) ? memory : undefined);
const peersDir = process.env["PEERS_DIR"] ?? (await makeTempDir());

/** A measured gateway, with functions to stop it and to start it again for the start-up measurement. */
interface Running {
  gateway: Gateway;
  startMs: () => Promise<number>;
  stop: () => Promise<void>;
}

const upstream = await startUpstream();

async function startUpstream() {
  const child = fork(fileURLToPath(new URL("upstream.ts", import.meta.url)), { execArgv: ["--no-warnings"] });
  const port = await new Promise<number>((resolve, reject) => {
    child.once("message", resolve);
    child.once("exit", (code) => reject(new Error(`the upstream did not start (exit code ${code})`)));
  });
  return { url: `http://127.0.0.1:${port}/v1`, stop: () => child.disconnect() };
}

/** Longer than this gateway gathers the console's log of requests and what wallets write to D1. */
const settlesMs = 11_000;
const ownBundle = once(() => bundleGateway(root, tempDir, "bench/peers/gateway.ts"));

/** This gateway with keys, metering, the log of requests, and rate limits, which are high enough for the load. Callers are of so many accounts. */
async function startOwn(name: string, accounts: number): Promise<Running> {
  const bundled = await ownBundle();
  const rateLimit = 999_999_999;
  const server = await startServer(tempDir, {
    ...bundled,
    consumes: true,
    network: true,
    rateLimit,
    bindings: {
      ...gatewayBindings,
      RATE_LIMITS: "on",
      SUBMISSIONS_PER_MINUTE: String(rateLimit),
      ACCOUNT_SUBMISSIONS_PER_MINUTE: String(rateLimit),
      OPENAI_API_KEY: "bench",
      OPENAI_BASE_URL: upstream.url,
    },
  });
  const client = new Client(server.url);
  const callers: Record<string, string>[] = [];
  for (let at = 0; at < accounts; at++) callers.push(await freshHeaders(client, `bench-${at}@example.com`));
  client.close();
  return {
    gateway: { name, url: server.url, processes: server.processes, callers, model: "textA-1-mini", settlesMs },
    startMs: () =>
      startMs({
        script: bundled.script,
        compatibilityFlags: ["global_fetch_strictly_public", "enable_request_signal", "queue_consumer_no_wait_for_wait_until"],
      }),
    stop: server.stop,
  };
}

/** A Worker that is only measured. */
async function startFloor(name: string, config: string, main: string, more: Record<string, string> = {}): Promise<Running> {
  const configPath = join(root, "bench/peers", config);
  const script = await bundle(configPath, main, join(tempDir, name));
  const server = await startServer(tempDir, {
    configPath,
    script,
    consumes: false,
    network: true,
    bindings: { UPSTREAM: upstream.url, ...more },
  });
  const gateway = { name, url: server.url, processes: server.processes, callers: [{}], model: "upstream-model" };
  return { gateway, startMs: () => startMs({ script, compatibilityFlags: [] }), stop: server.stop };
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
  ...(process.argv.includes("--frame") ? [["parses and answers", startFrame] as const] : []),
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

/**
 * `npm run bench:peers`: chats through this gateway, other gateways and a bare pass-through, against one upstream: CPU per request, requests a
 * second, memory, start-up. `PEERS_DIR` keeps what is installed; `--quick` is a smoke run. On a quiet machine it takes about five minutes.
 */

import { fork } from "node:child_process";
import { existsSync, rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundle, root } from "../build.ts";
import { freshHeaders, gatewayBindings } from "../calls.ts";
import { Client } from "../load.ts";
import { processesBelow } from "../process-tree.ts";
import { startServer } from "../server.ts";
import { startMs } from "../startup.ts";
import { installed, type Peer, peers } from "./peers.ts";
import { findPort, residentMiB, start } from "./programs.ts";
import { absolute, type Footprint, footprints, perChunk, ratios } from "./report.ts";
import { checkGateway, type Gateway, measure, type Size } from "./rounds.ts";

const isQuick = process.argv.includes("--quick");
const size: Size = isQuick ? { rounds: 1, turnMs: 150, maxRequests: 200 } : { rounds: 9, turnMs: 600, maxRequests: 5_000 };
const starts = isQuick ? 1 : 7;
const note = (text: string) => console.error(`${new Date().toISOString().slice(11, 19)} ${text}`);

// Our gateway's state is in memory if possible: the other gateways store nothing, and a disk's delays are not the platform's.
const memory = "/dev/shm";
const tempDir = await mkdtemp(join(existsSync(memory) ? memory : tmpdir(), "gateway-peers-"));
const installDir = await mkdtemp(join(tmpdir(), "gateway-peers-"));
const peersDir = process.env["PEERS_DIR"] ?? installDir;
process.once("exit", () => {
  for (const dir of [tempDir, installDir]) rmSync(dir, { recursive: true, force: true });
});
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

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

/** This gateway with keys, metering and rate limits, which are high enough for the load. */
async function startOwn(): Promise<Running> {
  const script = await bundle("wrangler.toml", "src/worker.ts", join(tempDir, "gateway"), "bench/peers/gateway.ts");
  const rateLimit = 999_999_999;
  const server = await startServer(tempDir, {
    configPath: join(root, "wrangler.toml"),
    script,
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
  const headers = await freshHeaders(client);
  client.close();
  return {
    gateway: { name: "ours", url: server.url, processes: server.processes, headers, model: "textA-1-mini" },
    startMs: () =>
      startMs({
        script,
        compatibilityFlags: ["global_fetch_strictly_public", "enable_request_signal", "queue_consumer_no_wait_for_wait_until"],
      }),
    stop: server.stop,
  };
}

/** A Worker that is only measured. */
async function startFloor(name: string, config: string, main: string): Promise<Running> {
  const configPath = join(root, "bench/peers", config);
  const script = await bundle(configPath, main, join(tempDir, name));
  const server = await startServer(tempDir, { configPath, script, consumes: false, network: true, bindings: { UPSTREAM: upstream.url } });
  const gateway = { name, url: server.url, processes: server.processes, headers: {}, model: "upstream-model" };
  return { gateway, startMs: () => startMs({ script, compatibilityFlags: [] }), stop: server.stop };
}

const startLeast = () => startFloor("least gateway", "least.toml", "least.ts");
const startPass = () => startFloor("pass-through", "wrangler.toml", "pass.ts");

async function startPeer(peer: Peer): Promise<Running> {
  const dir = await installed(peer, peersDir);
  const run = async () => {
    const port = await findPort();
    return start(await peer.command(dir, port, upstream.url), port, "/");
  };
  const { child, url, stop } = await run();
  const processes = [child.pid!, ...(await processesBelow(child.pid!))];
  return {
    gateway: { name: peer.name, url, processes, headers: peer.headers(upstream.url), model: peer.model },
    async startMs() {
      const again = await run();
      await again.stop();
      return again.startMs;
    },
    stop,
  };
}

const running: Running[] = [];
const skipped = ["Bifrost is skipped: its npm package fetches the program from a host of its own, which is no package registry"];
for (const [name, starting] of [
  ["ours", startOwn],
  ...peers.map((peer) => [`${peer.name} ${peer.version}`, () => startPeer(peer)] as const),
  ["least gateway", startLeast],
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
    absolute(results, names),
    perChunk(results, names),
    footprints(measured.map(({ footprint }) => footprint)),
    ...skipped,
  ].join("\n\n"),
);

/** `npm run bench:storing`: the CPU time of storing a video of 100 MB with the gateway's code and with a bare `put`, and of its SHA-256 alone, in alternation. */

import { once } from "node:events";
import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { bundle, root } from "../build.ts";
import { quantile } from "../comparison.ts";
import { canReadCpu, cpuUs } from "../process-tree.ts";
import { startServer } from "../server.ts";
import { startBucket } from "./bucket.ts";

const bytes = 100_000_000;
const rounds = 12;

if (!canReadCpu) throw new Error("processor time is read from /proc, which only Linux has");

const tempDir = await mkdtemp(join(tmpdir(), "storing-"));
process.once("exit", () => rmSync(tempDir, { recursive: true, force: true }));
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

const configPath = join(root, "bench/large-body/storing.toml");
const script = await bundle(configPath, "storing-worker.ts", join(tempDir, "bundle"));
const bucket = await startBucket();
const server = await startServer(tempDir, { configPath, script, consumes: false, bindings: {}, bucket: bucket.address });
const file = Buffer.alloc(bytes, "a video is not compressible, this text is, and R2 does not look");
const upstream = createServer((_, response) => response.writeHead(200, { "content-length": bytes }).end(file));
upstream.listen(0, "127.0.0.1");
await once(upstream, "listening");
const from = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/`;

/** Milliseconds of CPU time for one file. */
async function store(way: "bare" | "hash" | "gateway"): Promise<number> {
  const before = await cpuUs(server.processes);
  const answer = await (await fetch(`${server.url}/${way}?from=${from}&length=${bytes}`)).text();
  if (answer !== String(bytes) || (way !== "hash" && !bucket.files.get(way)?.bytes.equals(file)))
    throw new Error(`${way}: the stored file is another: ${answer}`);
  await sleep(50);
  return ((await cpuUs(server.processes)) - before) / 1000;
}

await store("bare");
await store("gateway");
const triples: { bare: number; hash: number; gateway: number }[] = [];
for (let round = 0; round < rounds; round++)
  triples.push({ bare: await store("bare"), hash: await store("hash"), gateway: await store("gateway") });
const three = (values: number[]) => [0.5, 0.25, 0.75].map((part) => quantile(values, part));
for (const way of ["bare", "hash", "gateway"] as const) {
  const [middle, low, high] = three(triples.map((triple) => triple[way])).map(Math.round);
  console.log(`${way}: ${middle} ms of CPU for 100 MB (${low} to ${high})`);
}
/** Prints the multiple of a bare put that this part of a round takes. */
function compare(name: string, part: (triple: (typeof triples)[number]) => number): void {
  const [ratio, low, high] = three(triples.map((triple) => part(triple) / triple.bare)).map((value) => value.toFixed(2));
  console.log(`${name} / bare: ${ratio} (${low} to ${high})`);
}
compare("bare + hash", ({ bare, hash }) => bare + hash);
compare("gateway", ({ gateway }) => gateway);
upstream.closeAllConnections();
upstream.close();
bucket.close();
await server.stop();

/** `npm run bench:ranges`: the CPU time of a range of 1 MB through the gateway, beside a bare read of the same range, taking turns. */

import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { bundle, root } from "../build.ts";
import { gatewayBindings } from "../calls.ts";
import { canReadCpu, cpuUs } from "../process-tree.ts";
import { startServer } from "../server.ts";
import { quantile } from "../comparison.ts";
import { startBucket } from "./bucket.ts";
import { makeTempDir } from "./limits.ts";

const fileBytes = 60_000_000;
const rangeBytes = 1_000_000;
const rounds = 20;
/** Requests of each kind in a round, one after the other. */
const requests = 50;

if (!canReadCpu) throw new Error("processor time is read from /proc, which only Linux has");

const tempDir = await makeTempDir();
const configPath = join(root, "wrangler.toml");
const script = await bundle(configPath, "src/worker.ts", join(tempDir, "bundle"), "bench/large-body/ranges-worker.ts");
const bucket = await startBucket();
const server = await startServer(tempDir, { configPath, script, consumes: false, bindings: gatewayBindings, bucket: bucket.address });

const key = "assets/bench/0.mp4";
const file = Buffer.alloc(fileBytes, "a video is not compressible, this text is, and R2 does not look");
const bare = `${server.url}/bare/${key}`;
const urls = { bare, gateway: await (await fetch(bare, { method: "PUT", body: file })).text() };

/** Microseconds of CPU time for one range. */
async function read(way: keyof typeof urls): Promise<number> {
  const before = await cpuUs(server.processes);
  for (let number = 0; number < requests; number++) {
    const start = number * rangeBytes;
    const answer = await fetch(urls[way], { headers: { range: `bytes=${start}-${start + rangeBytes - 1}` } });
    const bytes = Buffer.from(await answer.arrayBuffer());
    if (answer.status !== 206 || !bytes.equals(file.subarray(start, start + rangeBytes)))
      throw new Error(`${way}: ${answer.status} with ${bytes.length} bytes, not the range from ${start}`);
  }
  await sleep(20);
  return ((await cpuUs(server.processes)) - before) / requests;
}

await read("bare");
await read("gateway");
const pairs: { bare: number; gateway: number }[] = [];
for (let round = 0; round < rounds; round++) pairs.push({ bare: await read("bare"), gateway: await read("gateway") });
const three = (values: number[], digits: number) => [0.5, 0.25, 0.75].map((part) => quantile(values, part).toFixed(digits));
for (const way of ["bare", "gateway"] as const) {
  const us = pairs.map((pair) => pair[way]);
  const [middle, low, high] = three(us, 0);
  console.log(`${way}: ${middle} us of CPU for 1 MB (${low} to ${high})`);
}
const ratios = pairs.map(({ bare, gateway }) => gateway / bare);
const [ratio, low, high] = three(ratios, 2);
console.log(`gateway / bare: ${ratio} (${low} to ${high})`);
bucket.close();
await server.stop();

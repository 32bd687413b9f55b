/** `npm run bench -- startup`: how much longer the gateway, the console and its auth Worker take to start than an empty Worker. Exits 1 if one is above its limit. */

import { parseArgs } from "node:util";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { bundleWorker } from "./build.ts";
import { median, spread } from "./comparison.ts";
import { startMs } from "./startup.ts";
import { makeTempDir } from "./temporary.ts";

const rounds = parseArgs({ options: { quick: { type: "boolean" } } }).values.quick ? 3 : 21;
/** Each Worker with the milliseconds that it may take above an empty one. The auth Worker starts with the first request of a signed-in user, and has no limit. */
const workers = [
  ["gateway", "wrangler.toml", 25],
  ["console", "src/console/wrangler.toml", 90],
  ["auth", "src/console/auth/wrangler.toml", Infinity],
] as const;

const tempDir = await makeTempDir();
const empty = join(tempDir, "empty", "worker.js");
await mkdir(join(tempDir, "empty"));
await writeFile(empty, "export default { fetch: () => new Response() };\n");
const bundled = await Promise.all(
  workers.map(async ([name, configPath, limit]) => ({ name, limit, worker: await bundleWorker(configPath, tempDir) })),
);

for (const { name, limit, worker } of bundled) {
  const above: number[] = [];
  // With the same flags, so that the runtime's own share is equal.
  const floor = { ...worker, script: empty };
  for (let round = 0; round < rounds; round++) above.push((await startMs(worker)) - (await startMs(floor)));
  console.log(`${name}: ${spread(above, 0)} ms above an empty Worker${limit === Infinity ? "" : `, allowed are ${limit}`}`);
  if (median(above) > limit) process.exitCode = 1;
}

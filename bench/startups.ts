/** `npm run bench -- startup`: how much longer the gateway, the console and its auth Worker take to start than an empty Worker. Exits 1 if one is above its limit. */

import { parseArgs } from "node:util";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { bundle } from "../scripts/support/bundles.ts";
import { quantile } from "./comparison.ts";
import { type Startable, startMs } from "./startup.ts";
import { makeTempDir } from "./temporary.ts";

const rounds = parseArgs({ options: { quick: { type: "boolean" } } }).values.quick ? 3 : 21;
/** Milliseconds above an empty Worker. The auth Worker starts with the first request of a signed-in user, and has no limit. */
const limits = { gateway: 25, console: 90, auth: Infinity };

const tempDir = await makeTempDir();

const empty = join(tempDir, "empty", "worker.js");
await mkdir(join(tempDir, "empty"));
await writeFile(empty, "export default { fetch: () => new Response() };\n");
const [gateway, pages, auth] = await Promise.all([
  bundle("wrangler.toml", "worker.ts", join(tempDir, "gateway")),
  bundle("src/console/wrangler.toml", "worker.ts", join(tempDir, "console")),
  bundle("src/console/auth/wrangler.toml", "worker.ts", join(tempDir, "auth")),
]);
const flags = ["global_fetch_strictly_public"];
const workers = {
  gateway: { script: gateway, compatibilityFlags: [...flags, "enable_request_signal", "queue_consumer_no_wait_for_wait_until"] },
  console: { script: pages, compatibilityFlags: [...flags, "nodejs_compat"] },
  auth: { script: auth, compatibilityFlags: [...flags, "nodejs_compat"] },
} satisfies Record<string, Startable>;

for (const name of ["gateway", "console", "auth"] as const) {
  const above: number[] = [];
  // With the same flags, so that the runtime's own share is equal.
  const floor = { ...workers[name], script: empty };
  for (let round = 0; round < rounds; round++) above.push((await startMs(workers[name])) - (await startMs(floor)));
  const [low, median, high] = [0.25, 0.5, 0.75].map((part) => quantile(above, part).toFixed(0));
  console.log(
    `${name}: ${median} ms above an empty Worker (${low}-${high})${limits[name] === Infinity ? "" : `, allowed are ${limits[name]}`}`,
  );
  if (quantile(above, 0.5) > limits[name]) process.exitCode = 1;
}

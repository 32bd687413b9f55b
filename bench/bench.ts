/** `npm run bench`: the cost of a status query and a submission, compared with the minimal platform operations. Exits 1 if it is above the gate. */

import { join } from "node:path";
import { parseArgs } from "node:util";
import { root } from "../scripts/support/wrangler.ts";
import { bundleGateway, bundleWorker } from "./build.ts";
import { floorCalls } from "./calls.ts";
import { Client } from "./load.ts";
import { comparePair, startGateway } from "./pair.ts";
import { canReadCpu } from "./process-tree.ts";
import { comparisonTable, failures } from "./report.ts";
import { startServer } from "./server.ts";
import { makeTempDir } from "./temporary.ts";

const { quick: isQuick } = parseArgs({ options: { quick: { type: "boolean" } } }).values;
const tempDir = await makeTempDir();
const [gateway, floor] = await Promise.all([
  bundleGateway(root, tempDir),
  bundleWorker(join(root, "bench/wrangler.toml"), tempDir, { main: "floor.ts" }),
]);

const results = await comparePair(async (consumes) => {
  const own = await startGateway(tempDir, gateway, consumes);
  const server = await startServer(tempDir, { ...floor, consumes, bindings: {} });
  const client = new Client(server.url);
  return [own, { server, client, ...(await floorCalls(client, own.headers)) }];
}, isQuick);

console.log(comparisonTable(results, "floor"));
if (canReadCpu) {
  const failed = failures(results);
  for (const failure of failed) console.error(failure);
  if (failed.length > 0) process.exitCode = 1;
} else console.log("CPU time is read from /proc, which only Linux has: no gate was checked.");

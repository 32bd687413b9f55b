/** `npm run bench -- against <revision>`: compares this gateway with another revision, which must have the same dependencies. Exits 1 if any cost is more than a tenth higher. */

import { execFileSync } from "node:child_process";
import { statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { bundleGateway } from "./build.ts";
import { root } from "../scripts/support/wrangler.ts";
import { gatewayBindings, gatewayCalls } from "./calls.ts";
import { type Comparison, compare, median } from "./comparison.ts";
import { Client } from "./load.ts";
import { table } from "./report.ts";
import { startServer } from "./server.ts";
import { makeTempDir } from "./temporary.ts";

const most = 1.1;
const [revision] = process.argv.slice(2);
if (!revision) throw new Error("Which revision? npm run bench -- against HEAD~1");

const tempDir = await makeTempDir();
const other = join(tempDir, "other");
execFileSync("git", ["worktree", "add", "--detach", other, revision], { cwd: root, stdio: "ignore" });
// Before the folder itself is removed, so that git forgets the worktree.
process.prependOnceListener("exit", () => execFileSync("git", ["worktree", "remove", "--force", other], { cwd: root, stdio: "ignore" }));
symlinkSync(join(root, "node_modules"), join(other, "node_modules"));

const here = await bundleGateway(root, join(tempDir, "script"));
const there = await bundleGateway(other, join(tempDir, "other-script"));

/** A running gateway, and how long it took until its first tasks were completed. */
async function start(gateway: typeof here) {
  const began = performance.now();
  const server = await startServer(tempDir, { ...gateway, consumes: true, bindings: gatewayBindings });
  const client = new Client(server.url);
  const calls = await gatewayCalls(client);
  const startMs = performance.now() - began;
  return { server, client, calls, startMs };
}

const starts: number[] = [];
const otherStarts: number[] = [];
const results: Record<string, Comparison> = {};
for (let turn = 0; turn < 3; turn++) {
  const own = await start(here);
  const before = await start(there);
  starts.push(own.startMs);
  otherStarts.push(before.startMs);
  if (turn === 2) {
    for (const state of ["in_progress", "completed"] as const)
      results[`status, ${state}`] = await compare(
        { ...own, calls: await own.calls.status(state) },
        { ...before, calls: await before.calls.status(state) },
        { turns: 14, warmUps: 3, requests: 1_500 },
      );
    results["submission"] = await compare(
      { ...own, calls: [own.calls.submission] },
      { ...before, calls: [before.calls.submission] },
      { turns: 10, warmUps: 3, requests: 100 },
    );
  }
  for (const { server, client } of [own, before]) {
    client.close();
    await server.stop();
  }
}

console.log(table(results).replaceAll("floor", "other"));
const [size, otherSize] = [statSync(here.script).size, statSync(there.script).size];
const [startMs, otherStartMs] = [median(starts), median(otherStarts)];
console.log(`script ${size} bytes, other ${otherSize}: ${(size / otherSize).toFixed(3)}`);
console.log(
  `started and first tasks made in ${startMs.toFixed(0)} ms, other ${otherStartMs.toFixed(0)}: ${(startMs / otherStartMs).toFixed(3)}`,
);
const ratios = [size / otherSize, startMs / otherStartMs, ...Object.values(results).map((result) => median(result.ratios))];
if (ratios.some((ratio) => ratio > most)) process.exitCode = 1;

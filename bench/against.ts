/** `npm run bench -- against <revision>`: compares this gateway with another revision, which must have the same dependencies. Exits 1 if any cost is more than a tenth higher. */

import { execFileSync } from "node:child_process";
import { statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { root } from "../scripts/support/wrangler.ts";
import { bundleGateway } from "./build.ts";
import { median } from "./comparison.ts";
import { comparePair, startGateway } from "./pair.ts";
import { comparisonTable } from "./report.ts";
import { startMs } from "./startup.ts";
import { makeTempDir } from "./temporary.ts";

const maxRatio = 1.1;
const starts = 9;
const [revision] = process.argv.slice(2);
if (!revision) throw new Error("Which revision? npm run bench -- against HEAD~1");

const tempDir = await makeTempDir();
const other = join(tempDir, "other");
execFileSync("git", ["worktree", "add", "--detach", other, revision], { cwd: root, stdio: "ignore" });
// Before the folder itself is removed, so that git forgets the worktree.
process.prependOnceListener("exit", () => execFileSync("git", ["worktree", "remove", "--force", other], { cwd: root, stdio: "ignore" }));
symlinkSync(join(root, "node_modules"), join(other, "node_modules"));

const here = await bundleGateway(root, tempDir);
const there = await bundleGateway(other, tempDir);

const [ownMs, otherMs]: [number[], number[]] = [[], []];
for (let turn = 0; turn < starts; turn++) {
  ownMs.push(await startMs(here));
  otherMs.push(await startMs(there));
}

const results = await comparePair(async (consumes) => [
  await startGateway(tempDir, here, consumes),
  await startGateway(tempDir, there, consumes),
]);

console.log(comparisonTable(results, "other"));
const [size, otherSize] = [statSync(here.script).size, statSync(there.script).size];
const [started, otherStarted] = [median(ownMs), median(otherMs)];
console.log(`script ${size} bytes, other ${otherSize}: ${(size / otherSize).toFixed(3)}`);
console.log(`start-up ${started.toFixed(0)} ms, other ${otherStarted.toFixed(0)}: ${(started / otherStarted).toFixed(3)}`);
const ratios = [size / otherSize, started / otherStarted, ...Object.values(results).map((result) => median(result.ratios))];
if (ratios.some((ratio) => ratio > maxRatio)) process.exitCode = 1;

/** `npm run bench`: the cost of a status query and a submission, compared with the minimal platform operations. Exits 1 if it is above the gate. */

import { parseArgs } from "node:util";
import { type Comparison, compare, joined, type Slices } from "./comparison.ts";
import { bundleBoth, withPair } from "./pair.ts";
import { canReadCpu } from "./process-tree.ts";
import { failures, table } from "./report.ts";
import { makeTempDir } from "./temporary.ts";

const isQuick = parseArgs({ options: { quick: { type: "boolean" } } }).values.quick;

const statusSlices: Slices = { turns: isQuick ? 6 : 18, warmUps: 3, requests: 2_000 };
// Each server for submissions lives for eight seconds: no consumer reads its queue, and after ten seconds the tasks' objects would start
// their tasks themselves. On a busy machine a server takes fewer turns in that time, so more servers are started.
const submissionSlices: Slices = { turns: 10, warmUps: 1, requests: 100, forMs: 8_000 };
const submissionTurns = isQuick ? 10 : 30;
const maxPairs = 12;

const tempDir = await makeTempDir();

const scripts = await bundleBoth(tempDir);
const results: Record<string, Comparison> = {};
await withPair(tempDir, scripts, true, async ({ own, floor, calls, floorCalls }) => {
  const least = floor(floorCalls.status);
  results["status, in progress"] = await compare(own(await calls.status("in_progress")), least, statusSlices);
  results["status, completed"] = await compare(own(await calls.status("completed")), least, statusSlices);
});
const submissions: Comparison[] = [];
for (let pairs = 0; pairs < maxPairs && joined(submissions).own.length < submissionTurns; pairs++)
  await withPair(tempDir, scripts, false, async ({ own, floor, calls, floorCalls }) => {
    submissions.push(await compare(own([calls.submission]), floor([floorCalls.submission]), submissionSlices));
  });
results["submission, image"] = joined(submissions);

console.log(table(results));
if (canReadCpu) {
  const failed = failures(results);
  for (const failure of failed) console.error(failure);
  if (failed.length > 0) process.exitCode = 1;
} else console.log("CPU time is read from /proc, which only Linux has: no gate was checked.");

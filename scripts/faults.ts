/** `npm run tools -- faults`: seeded runs of random operations with injected faults; prints the seeds that fail. */

import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { runSeeds } from "./engine/seeds.ts";
import { root } from "./support/wrangler.ts";

/** Runs per runtime: a new one costs seconds, and the leftovers of many runs slow it down. */
const chunk = 50;

/** What the runtime prints about objects that were reset. */
const runtimeErrors = /^(?:uncaught exception|exception = |stack: |An RPC result ).*\n/gm;

const vitest = join(dirname(createRequire(import.meta.url).resolve("vitest/package.json")), "vitest.mjs");
const failed = await runSeeds("faults", process.argv[2] ?? "200", chunk, async (from, to) => {
  const { code, output } = await run(from, to);
  const seeds = [...output.matchAll(/^Error: seed (\d+):/gm)].map(([, seed]) => Number(seed));
  console.log(`${from}-${to}: ${code === 0 ? "all hold" : seeds.length > 0 ? `failed: ${seeds.join(", ")}` : "did not run"}`);
  if (code !== 0) {
    process.exitCode = 1;
    console.error(output);
  }
  return seeds;
});
if (failed.length > 0)
  console.log(`Failed: ${failed.join(", ")}. FAULT_SEEDS=${failed[0]} npx vitest run --project gateway test/faults repeats the first.`);

/** Runs these seeds in their own runtime. */
function run(from: number, to: number): Promise<{ code: number; output: string }> {
  const child = spawn(process.execPath, [vitest, "run", "--project", "gateway", "test/faults"], {
    cwd: root,
    env: { ...process.env, FAULT_SEEDS: `${from}-${to}`, NO_COLOR: "1", FORCE_COLOR: undefined },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [output, errors] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    // Vitest prints failures among the errors, where the runtime reports every object that was reset as one of its own.
    child.once("close", (code) => resolve({ code: code ?? 1, output: output + errors.replaceAll(runtimeErrors, "") }));
  });
}

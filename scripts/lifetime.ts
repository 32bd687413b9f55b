/** `npm run lifetime [-- 20]`: seeded lifetimes of a deployment with an upgrade, archive steps and a restored database; prints the seeds that fail. */

import { buildRevisions, live } from "./lifetime/run.ts";
import { parseSeeds } from "./support/seeds.ts";

const [first, last] = parseSeeds("lifetime", process.argv[2] ?? "20");
const revisions = await buildRevisions();
const failed: number[] = [];
for (let seed = first; seed <= last; seed++) {
  const began = performance.now();
  try {
    const { faults, trace, tasks, chats, archived } = await live(seed, revisions);
    const seconds = Math.round((performance.now() - began) / 1000);
    console.log(`${seed}: ${tasks} tasks, ${chats} chats, ${archived} entries archived, ${faults.length || "no"} faults; ${seconds} s`);
    if (faults.length === 0) continue;
    console.error([...trace, ...faults.map((fault) => `✗ ${fault}`)].join("\n"));
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
  }
  failed.push(seed);
}
if (failed.length > 0) {
  console.log(`Failed: ${failed.join(", ")}`);
  process.exitCode = 1;
}

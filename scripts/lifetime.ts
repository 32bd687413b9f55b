/** `npm run tools -- lifetime 20`: seeded lifetimes of a deployment with an upgrade, archive steps and a restored database; prints the seeds that fail. */

import { runSeeds } from "./engine/seeds.ts";
import { buildRevisions, live } from "./lifetime/run.ts";

let revisions: Awaited<ReturnType<typeof buildRevisions>> | undefined;
const failed = await runSeeds("lifetime", process.argv[2] ?? "20", 1, async (seed) => {
  revisions ??= await buildRevisions();
  const began = performance.now();
  try {
    const { faults, trace, tasks, chats, archived } = await live(seed, revisions);
    const seconds = Math.round((performance.now() - began) / 1000);
    console.log(`${seed}: ${tasks} tasks, ${chats} chats, ${archived} entries archived, ${faults.length || "no"} faults; ${seconds} s`);
    if (faults.length === 0) return [];
    console.error([...trace, ...faults.map((fault) => `✗ ${fault}`)].join("\n"));
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
  }
  return [seed];
});
if (failed.length > 0) console.log(`Failed: ${failed.join(", ")}`);

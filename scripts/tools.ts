/** `npm run tools -- NAME`: the programs that test, measure and prepare, other than the tests and the benchmarks. Without a name it lists them. */

import { runProgram } from "./support/programs.ts";
import { importTextModules } from "./support/text-modules.ts";

const programs = {
  soak: ["a gateway under mixed load, killed and restarted: --minutes 2 --seed 1 --clients 6 --holds", "soak.ts"],
  batch: ["a batch of images on a gateway that is killed on the way: --lines 300 --kills 3 --minutes 8", "batch.ts"],
  faults: ["seeded runs of random operations with injected faults: 200, or 300-350", "faults.ts"],
  lifetime: ["seeded lifetimes of a deployment, with an upgrade and a restored database: 20, or 30-35", "lifetime.ts"],
  price: ["the price of a million tasks and chats, counted at the bindings", "price.ts"],
  year: ["rows and bytes of the ledger in a year: TASKS DAYS CHAT_EVERY", "simulate/year.ts"],
  upgrade: ["how long each migration takes on a large ledger: ENTRIES NUMBER", "simulate/upgrade.ts"],
  models: ["an entry of a model with its own input, with the maker's schema: add fal ID, add replicate OWNER/NAME", "models.ts"],
  upstreams: ["emulators of all upstreams on one port: PORT", "upstreams.ts"],
} as const;

importTextModules();
await runProgram("tools", programs, import.meta.url);

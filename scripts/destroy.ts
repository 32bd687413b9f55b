/** `npm run destroy`: removes a deployment, Workers first and data last, after its name was typed. */

import { runCommand } from "./deploy/command.ts";
import { destroy } from "./deploy/destroy.ts";
import { readDestroyOptions } from "./deploy/options.ts";

await runCommand(async (signal) => destroy(readDestroyOptions(process.argv.slice(2)), process.env, signal));

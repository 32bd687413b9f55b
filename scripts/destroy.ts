/** `npm run destroy`: removes a deployment, Workers first and data last, after its name was typed. */

import { runCommand } from "./deploy/command.ts";
import { destroy } from "./deploy/destroy.ts";
import { destroyHelp, readDestroyOptions } from "./deploy/options.ts";

await runCommand(async (signal) => {
  const options = readDestroyOptions(process.argv.slice(2), process.env);
  if (options) await destroy(options, process.env, signal);
  else console.log(destroyHelp);
});

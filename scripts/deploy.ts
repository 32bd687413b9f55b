/** `npm run deploy`: creates or upgrades the gateway on a Cloudflare account; a repeated run continues or upgrades. */

import { deploy } from "./deploy/deploy.ts";
import { runCommand } from "./deploy/command.ts";
import { deployHelp, readDeployOptions } from "./deploy/options.ts";

await runCommand(async (signal) => {
  const options = readDeployOptions(process.argv.slice(2), process.env);
  if (options) await deploy(options, process.env, signal);
  else console.log(deployHelp);
});

/** `npm run deploy`: creates or upgrades the gateway on a Cloudflare account; a repeated run continues or upgrades. Also rotates a secret, or sends a test alert. */

import { deploy } from "./deploy/deploy.ts";
import { runCommand } from "./deploy/command.ts";
import { deployHelp, readDeployOptions } from "./deploy/options.ts";
import { rotate } from "./deploy/rotate.ts";
import { testAlert } from "./deploy/test-alert.ts";

await runCommand(async (signal) => {
  const options = readDeployOptions(process.argv.slice(2), process.env);
  if (!options) console.log(deployHelp);
  else if (options.rotate !== undefined) await rotate(options.rotate, options, process.env, signal);
  else if (options.isTestAlert) await testAlert(options, process.env, signal);
  else await deploy(options, process.env, signal);
});

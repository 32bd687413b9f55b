/** `npm start`: the gateway on this machine, with all its state in one directory and a new demo key. */

import { host } from "./support/port.ts";
import { firstCurl } from "./support/first-curl.ts";
import { pin } from "./support/pinned.ts";
import { startGateway, type Gateway } from "./support/gateway.ts";
import { modelsFolder } from "./support/models.ts";
import { stopSignal } from "./support/stop-signal.ts";
import { developerVariables } from "./support/variables.ts";

const stopping = stopSignal();
let gateway: Gateway | undefined;
stopping.addEventListener("abort", () => void gateway?.stop());

try {
  const [option] = process.argv.slice(2);
  if (option !== undefined)
    throw new Error(`npm start takes no options, and got ${option}. Its variables, such as PORT, are in docs/configuration.md.`);
  const port = Number(process.env["PORT"] || 8787);
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new Error(`PORT must be a whole number from 0 to 65535, not ${process.env["PORT"]}`);
  const stateDir = process.env["STATE_DIR"] || ".wrangler/state";
  console.log("Starting the gateway ...");
  const env = await developerVariables(process.env);
  gateway = await startGateway({ port, stateDir, env, models: modelsFolder(process.env), signal: stopping });
  if (stopping.aborted) await gateway.stop();
  else {
    pin(essentials(gateway));
    console.log(welcome(gateway, stateDir));
  }
  const code = await gateway.exited;
  if (!stopping.aborted) {
    console.error(`The gateway ended by itself (exit code ${code}).`);
    process.exitCode = code || 1;
  }
} catch (error) {
  if (!stopping.aborted) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}

/** The first steps for a user; the lines `NAME=value` are for programs. */
function welcome({ baseUrl, adminToken, account }: Gateway, stateDir: string): string {
  if (!account)
    return `\nBASE_URL=${baseUrl}\n\nADMIN_TOKEN is empty: no admin API, no demo account, and the models of the folder models are not stored. State in ${stateDir}. Ctrl-C stops.\n`;
  return `
BASE_URL=${baseUrl}
API_KEY=${account.apiKey}
ADMIN_TOKEN=${adminToken}

Console: ${consoleAddress(baseUrl)}, sign in as ${account.email} with the password ${account.password}.

The key belongs to ${account.email}, balance ${account.remaining ?? "unlimited"}. State in ${stateDir}. Ctrl-C stops. Try:

${firstCurl(baseUrl, account.apiKey)}
`;
}

function consoleAddress(baseUrl: string): string {
  return `${baseUrl.replace(host, "localhost")}/console`;
}

/** What a user needs again and again while the gateway runs. */
function essentials({ baseUrl, account }: Gateway): string[] {
  if (!account) return [`Gateway  ${baseUrl}`];
  return [`Console  ${consoleAddress(baseUrl)}  ${account.email}  ${account.password}`, `API key  ${account.apiKey}`];
}

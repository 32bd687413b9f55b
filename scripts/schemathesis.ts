/** `npm run test:schema`: schemathesis sends valid and invalid requests to a gateway of its own, and checks each answer against the OpenAPI description. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runToEnd, withGateway } from "./support/program.ts";
import { keepTemporaryFilesInMemory } from "./support/temporary-files.ts";
import { fitForFuzzing } from "./schema/fit.ts";
import { installSchemathesis, runSchemathesis } from "./schema/schemathesis.ts";

keepTemporaryFilesInMemory();
// Rate limits would answer most requests with 429.
const env = { RATE_LIMITS: "off", ALLOW_PRIVATE_NETWORK: "off" };

await runToEnd(async (signal) => {
  const program = await installSchemathesis(signal);
  console.log("Starting a gateway for schemathesis ...");
  await withGateway("schema", { signal, env }, async (gateway, stateDir) => {
    const { baseUrl, apiKey = "", adminToken } = gateway;
    const response = await fetch(`${baseUrl}/openapi.json`);
    const file = join(stateDir, "openapi.json");
    await writeFile(file, JSON.stringify(fitForFuzzing(await response.json())));
    const of = { program, file, baseUrl, stateDir, signal };
    // The runs follow one another: the admin paths may disable the account that other requests use.
    const codes = [
      await runSchemathesis({ ...of, token: apiKey, seconds: 80, paths: "^/(?!admin)" }),
      await runSchemathesis({ ...of, token: adminToken, seconds: 30, paths: "^/admin" }),
    ];
    if (codes.every((code) => code === 0)) return;
    console.error(`The end of the gateway's log:\n${gateway.log().slice(-4_000)}`);
    process.exitCode = 1;
  });
});

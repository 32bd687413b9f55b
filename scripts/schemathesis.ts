/** `npm run test:schema`: schemathesis sends valid and invalid requests to a gateway of its own, and checks each answer against the OpenAPI description. */

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startGateway } from "./support/gateway.ts";
import { stopSignal } from "./support/stop-signal.ts";
import { keepTemporaryFilesInMemory } from "./support/temporary-files.ts";
import { fitForFuzzing } from "./schema/fit.ts";
import { installSchemathesis, runSchemathesis } from "./schema/schemathesis.ts";

keepTemporaryFilesInMemory();
const stopping = stopSignal();
const stateDir = await mkdtemp(join(tmpdir(), "gateway-schema-"));

try {
  const program = await installSchemathesis(stopping);
  console.log("Starting a gateway for schemathesis ...");
  // Rate limits would answer most requests with 429.
  const env = { RATE_LIMITS: "off", ALLOW_PRIVATE_NETWORK: "off" };
  const gateway = await startGateway({ stateDir, env, quiet: true, signal: stopping });
  try {
    const response = await fetch(`${gateway.baseUrl}/openapi.json`);
    const file = join(stateDir, "openapi.json");
    await writeFile(file, JSON.stringify(fitForFuzzing(await response.json())));
    const of = { program, file, baseUrl: gateway.baseUrl, stateDir, signal: stopping };
    // The runs follow one another: the admin paths may disable the account that other requests use.
    const codes = [
      await runSchemathesis({ ...of, token: gateway.apiKey ?? "", seconds: 80, paths: "^/(?!admin)" }),
      await runSchemathesis({ ...of, token: gateway.adminToken, seconds: 30, paths: "^/admin" }),
    ];
    if (codes.some((code) => code !== 0)) {
      console.error(`The end of the gateway's log:\n${gateway.log().slice(-4_000)}`);
      process.exitCode = 1;
    }
  } finally {
    await gateway.stop();
  }
} catch (error) {
  console.error(stopping.aborted ? "Interrupted." : error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  await rm(stateDir, { recursive: true, force: true });
}

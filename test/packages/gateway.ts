/** One gateway for all packages: on this machine, with the sandbox for every model. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startGateway } from "../../scripts/support/gateway.ts";

/** Starts it before the first test, and stops it after the last. */
export default async function setup(): Promise<() => Promise<void>> {
  const stateDir = await mkdtemp(join(tmpdir(), "gateway-packages-"));
  const gateway = await startGateway({ stateDir, quiet: true, env: { RATE_LIMITS: "off" } });
  // The environment of the tests' programs.
  process.env["GATEWAY_URL"] = gateway.baseUrl;
  process.env["GATEWAY_KEY"] = gateway.apiKey;
  return async () => {
    await gateway.stop();
    await rm(stateDir, { recursive: true, force: true });
  };
}

/** One gateway for all tests that run programs against one: on this machine, with the sandbox for every model and without rate limits. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startGateway } from "../../scripts/support/gateway.ts";

/** Starts it before the first test, and stops it after the last. */
export default async function setup(): Promise<() => Promise<void>> {
  const stateDir = await mkdtemp(join(tmpdir(), "gateway-programs-"));
  const gateway = await startGateway({ stateDir, quiet: true, env: { RATE_LIMITS: "off" } });
  // Inherited by the tests' processes.
  process.env["GATEWAY_URL"] = gateway.baseUrl;
  process.env["GATEWAY_ADMIN_TOKEN"] = gateway.adminToken;
  return async () => {
    await gateway.stop();
    await rm(stateDir, { recursive: true, force: true });
  };
}

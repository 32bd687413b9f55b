/** One gateway for all clients, or for all programs that run against one: on this machine, with the sandbox for every model and without rate limits. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startGateway } from "../../scripts/support/gateway.ts";

/** Starts it before the first test, and stops it after the last; if GATEWAY_URL and GATEWAY_ADMIN_TOKEN are set, that gateway is used. */
export default async function setup(): Promise<() => Promise<void>> {
  if (process.env["GATEWAY_URL"]) return async () => undefined;
  const stateDir = await mkdtemp(join(tmpdir(), "gateway-tests-"));
  const gateway = await startGateway({ stateDir, quiet: true, env: { RATE_LIMITS: "off" } });
  // The environment of the tests' processes.
  process.env["GATEWAY_URL"] = gateway.baseUrl;
  process.env["GATEWAY_ADMIN_TOKEN"] = gateway.adminToken;
  return async () => {
    await gateway.stop();
    await rm(stateDir, { recursive: true, force: true });
  };
}

/** One gateway for all clients: on this machine, with the sandbox for every model. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startGateway } from "../../scripts/support/gateway.ts";

/** Starts it before the first test, and ends it after the last; with GATEWAY_URL and GATEWAY_ADMIN_TOKEN set the clients ask that one. */
export default async function setup(): Promise<() => Promise<void>> {
  if (process.env["GATEWAY_URL"]) return async () => undefined;
  const stateDir = await mkdtemp(join(tmpdir(), "gateway-clients-"));
  const gateway = await startGateway({ stateDir, quiet: true, env: { RATE_LIMITS: "off" } });
  // What the tests' processes inherit.
  process.env["GATEWAY_URL"] = gateway.baseUrl;
  process.env["GATEWAY_ADMIN_TOKEN"] = gateway.adminToken;
  return async () => {
    await gateway.stop();
    await rm(stateDir, { recursive: true, force: true });
  };
}

/** The gateway as production runs it, bundled without being deployed. */

import { join } from "node:path";
import { bundle } from "../scripts/support/bundles.ts";

/** A bundled Worker. */
export interface Bundled {
  configPath: string;
  script: string;
}

/** The gateway as production runs it: with the operations Worker, which stores the console's log of requests. */
export interface GatewayBundle extends Bundled {
  operations: Bundled;
}

/** Bundles the gateway of a checkout into `outDir`; `entry`, a path within the checkout, replaces its script. */
export async function bundleGateway(dir: string, outDir: string, entry?: string): Promise<GatewayBundle> {
  const configPath = join(dir, "wrangler.toml");
  const operationsConfig = join(dir, "src/operations/wrangler.toml");
  const [script, operations] = await Promise.all([
    bundle(configPath, "worker.ts", join(outDir, "gateway"), entry === undefined ? undefined : join(dir, entry)),
    bundle(operationsConfig, "worker.ts", join(outDir, "operations")),
  ]);
  return { configPath, script, operations: { configPath: operationsConfig, script: operations } };
}

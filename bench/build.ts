/** Workers as production runs them, bundled without being deployed. */

import { basename, join } from "node:path";
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

/** Bundles the Worker of a wrangler.toml, whose script is `main`, or with its settings the script `entry`, into a folder of its own in `outDir`. */
export async function bundleWorker(configPath: string, outDir: string, { main = "worker.ts", entry }: Entry = {}): Promise<Bundled> {
  const name = configPath.replace(/\.toml$/, "").replaceAll("/", "-");
  return { configPath, script: await bundle(configPath, main, join(outDir, name, basename(entry ?? main, ".ts")), entry) };
}

interface Entry {
  main?: string;
  entry?: string | undefined;
}

/** Bundles the gateway of a checkout into `outDir`; `entry`, a path within the checkout, replaces its script. */
export async function bundleGateway(dir: string, outDir: string, entry?: string): Promise<GatewayBundle> {
  const [gateway, operations] = await Promise.all([
    bundleWorker(join(dir, "wrangler.toml"), outDir, { entry: entry && join(dir, entry) }),
    bundleWorker(join(dir, "src/operations/wrangler.toml"), outDir),
  ]);
  return { ...gateway, operations };
}

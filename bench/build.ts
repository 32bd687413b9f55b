/** Bundles a Worker as a deployment would, minified, without deploying it. */

import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

export const root = fileURLToPath(new URL("..", import.meta.url));

const wranglerDir = dirname(createRequire(import.meta.url).resolve("wrangler/package.json"));
const quiet = { CI: "true", WRANGLER_SEND_METRICS: "false", WRANGLER_HIDE_BANNER: "true", WRANGLER_WRITE_LOGS: "false" };

/** Bundles the Worker of a wrangler.toml into `outDir`, or instead of it the script `entry` with its settings; returns the path of the script. */
export async function bundle(configPath: string, main: string, outDir: string, entry?: string): Promise<string> {
  const command = [join(wranglerDir, "wrangler-dist/cli.js"), "deploy", ...(entry === undefined ? [] : [entry])];
  const options = ["--dry-run", "--minify", "--outdir", outDir, "-c", configPath];
  await promisify(execFile)(process.execPath, ["--no-warnings", ...command, ...options], { cwd: root, env: { ...process.env, ...quiet } });
  return join(outDir, basename(entry ?? main).replace(/\.ts$/, ".js"));
}

/** A bundled Worker. */
export interface Bundled {
  configPath: string;
  script: string;
}

/** The gateway as production runs it: with the operations Worker, which stores the console's log of requests. */
export interface GatewayBundle extends Bundled {
  operations: Bundled;
}

/** Bundles the gateway of a checkout into `outDir`; `entry` replaces its script. */
export async function bundleGateway(dir: string, outDir: string, entry?: string): Promise<GatewayBundle> {
  const configPath = join(dir, "wrangler.toml");
  const operationsConfig = join(dir, "src/operations/wrangler.toml");
  const [script, operations] = await Promise.all([
    bundle(configPath, "worker.ts", join(outDir, "gateway"), entry),
    bundle(operationsConfig, "worker.ts", join(outDir, "operations")),
  ]);
  return { configPath, script, operations: { configPath: operationsConfig, script: operations } };
}

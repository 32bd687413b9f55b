/** `npm run packages`: builds the clients into `clients/dist`: two npm packages and a wheel, generated from the API description. */

import { execFile } from "node:child_process";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { programIn, pythonWith } from "./support/python.ts";
import { root } from "./support/wrangler.ts";

const run = promisify(execFile);
const folder = (...names: string[]) => join(root, "clients", ...names);
const dist = folder("dist");
const isWindows = process.platform === "win32";

/** Runs a command in a client's folder. If it fails, throws with its output. */
async function build(client: string, command: string, ...args: string[]): Promise<void> {
  await run(command, args, { cwd: folder(client), maxBuffer: 64 * 1024 * 1024, shell: isWindows });
}

async function npmPackage(client: string): Promise<void> {
  await build(client, "npm", "ci", "--prefer-offline", "--no-audit", "--no-fund");
  // `npm pack` runs its `prepack` script, which builds it.
  await build(client, "npm", "pack", "--pack-destination", dist);
}

async function wheel(): Promise<void> {
  const environment = folder("python", ".venv");
  const python = await pythonWith(environment, folder("python", "requirements.txt"));
  const source = ["--path", "../../src/console/site/openapi.json", "--output-path", "src/generation_gateway/generated", "--overwrite"];
  await build(
    "python",
    programIn(environment, "openapi-python-client"),
    "generate",
    ...source,
    "--meta",
    "none",
    "--config",
    "generator.yml",
  );
  await build("python", python, "-m", "build", "--wheel", "--no-isolation", "--outdir", dist);
}

await rm(dist, { recursive: true, force: true });
await mkdir(dist, { recursive: true });
await Promise.all([npmPackage("typescript"), npmPackage("ai-sdk"), wheel()]);

/** Bundles of Workers, as a deployment makes them: of one wrangler.toml, and those that are kept until the sources change. */

import { existsSync } from "node:fs";
import { readdir, rename, rm, stat } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { basename, join } from "node:path";
import { sourcesDigest } from "./sources.ts";
import { root, startWrangler } from "./wrangler.ts";

const kept = join(root, "node_modules/.cache/bundles");
const keptMs = 30 * 86_400_000;

/** Bundles the Worker of a wrangler.toml into `outDir`, minified, or instead of it the script `entry` with its settings; returns the path of the script. */
export async function bundle(configPath: string, main: string, outDir: string, entry?: string, signal?: AbortSignal): Promise<string> {
  const options = ["--dry-run", "--minify", "--outdir", outDir, "-c", configPath];
  const wrangler = startWrangler(["deploy", ...(entry === undefined ? [] : [entry]), ...options], outDir, process.env, signal);
  const code = await wrangler.exited;
  signal?.throwIfAborted();
  if (code !== 0) throw new Error(`The Worker of ${configPath} could not be bundled:\n${wrangler.output()}`);
  return join(outDir, basename(entry ?? main).replace(/\.ts$/, ".js"));
}

/** The settings with which wrangler runs or deploys a kept bundle as it is. Files beside the script have names `<digest>-<name>`. */
export const bundledSettings = (script: string) => ({
  main: script,
  no_bundle: true,
  find_additional_modules: true,
  rules: [
    { type: "Text" as const, globs: ["css", "js", "svg", "md", "txt"].map((kind) => `**/*-*.${kind}`) },
    { type: "Data" as const, globs: ["woff2", "webp", "png", "mp4", "gz"].map((kind) => `**/*-*.${kind}`) },
  ],
});

/** The scripts of the Workers of these wrangler.toml files, relative to the root: made unless their sources are those of a kept bundle. */
export async function keptBundles(configs: string[], signal?: AbortSignal): Promise<string[]> {
  const digest = await sourcesDigest();
  const folder = join(kept, digest);
  const scripts: string[] = [];
  const left = configs.entries();
  const makeNext = async () => {
    for (const [at, config] of left) scripts[at] = await keptBundle(config, folder, signal);
  };
  await Promise.all(Array.from({ length: availableParallelism() }, makeNext));
  await removeOld(digest);
  return scripts;
}

async function keptBundle(config: string, folder: string, signal: AbortSignal | undefined): Promise<string> {
  const place = join(folder, config.replaceAll("/", "-").replace(/\.toml$/, ""));
  if (!existsSync(place)) {
    const made = `${place}.${process.pid}`;
    await bundle(config, "worker.ts", made, undefined, signal);
    // Wrangler's note about the folder, which would be a module of the Worker.
    await rm(join(made, "README.md"), { force: true });
    // Another program may have made the same bundle.
    await rename(made, place).catch(() => rm(made, { recursive: true }));
  }
  return join(place, "worker.js");
}

/** Removes other bundles that were made a month ago; another program may do so at the same time. */
async function removeOld(current: string): Promise<void> {
  for (const name of await readdir(kept)) {
    const made = (await stat(join(kept, name)).catch(() => undefined))?.mtimeMs;
    if (name !== current && made !== undefined && Date.now() - made > keptMs) await rm(join(kept, name), { recursive: true, force: true });
  }
}

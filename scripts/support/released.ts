/** The gateway's bundle of the last released revision. It is a file of the repository, because a shallow clone does not contain that revision. */

import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import { bundle } from "./bundles.ts";
import { root } from "./wrangler.ts";

export interface Released {
  /** The commit from which it was built. */
  revision: string;
  /** The names of its migrations, in their order. */
  migrations: string[];
  /** Its script, `worker.js`, and the text files beside it, by name. */
  modules: Record<string, string>;
}

export const releasedFile = join(root, "test/programs/support/released-gateway.json.br");

export const readReleased = async (): Promise<Released> =>
  JSON.parse(brotliDecompressSync(await readFile(releasedFile)).toString()) as Released;

/** The modules of a bundle of this revision, by name. */
export async function bundledModules(configPath: string, main: string): Promise<Released["modules"]> {
  const folder = await mkdtemp(join(tmpdir(), "gateway-bundle-"));
  try {
    await bundle(configPath, main, folder);
    const names = (await readdir(folder)).filter((name) => /\.(?:js|txt)$/.test(name));
    return Object.fromEntries(await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name), "utf8")])));
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** The gateway's bundle of the last released revision. It is a file of the repository, because a shallow clone does not contain that revision. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
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

/** The packages that `npm run packages` has built. */

import { readdir } from "node:fs/promises";
import { join, resolve } from "node:path";

export const dist = resolve("clients/dist");

/** The path of a package. Throws if it has not been built. */
export async function packageNamed(pattern: RegExp): Promise<string> {
  const found = (await readdir(dist)).find((name) => pattern.test(name));
  if (!found) throw new Error(`There is no ${String(pattern)} in ${dist}: run npm run packages.`);
  return join(dist, found);
}

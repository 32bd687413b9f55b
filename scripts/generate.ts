/** `npm run generate [-- NAME]`: writes the files that are made from others, all that need no gateway, or the named ones. */

import { writeFile } from "node:fs/promises";
import { generated } from "./support/generated.ts";
import { importTextModules } from "./support/text-modules.ts";

importTextModules();

const usual = Object.fromEntries(
  Object.entries(generated).map(([name, { file, make }]) => [
    name,
    async () => writeFile(new URL(`../${file}`, import.meta.url), await make()),
  ]),
);
/** Made only by name: the landing page's images by a gateway and Chromium, the bundle of a release from its commit. */
const named: Record<string, () => Promise<void>> = {
  media: () => import(new URL("site-media.ts", import.meta.url).href),
  released: () => import(new URL("released.ts", import.meta.url).href),
};

const all: Record<string, () => Promise<void>> = { ...usual, ...named };
const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(usual);
const unknown = names.filter((name) => !Object.hasOwn(all, name));
if (unknown.length > 0) {
  console.error(`There is no ${unknown.join(", ")}: npm run generate [-- ${Object.keys(all).join(" | ")}]`);
  process.exitCode = 2;
} else for (const name of names) await all[name]?.();

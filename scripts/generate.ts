/** `npm run generate [-- NAME]`: writes the files that are made from others, all that need no gateway, or the named ones. */

import { writeFile } from "node:fs/promises";
import { importTextModules } from "./support/text-modules.ts";

importTextModules();

const write = (file: string, text: string) => writeFile(new URL(`../${file}`, import.meta.url), text);

/** By name, each after those whose files it reads. */
const usual: Record<string, () => Promise<void>> = {
  messages: async () => write("src/messages/translations.txt", (await import("./support/messages.ts")).translations()),
  credentials: async () =>
    write("src/console/client/credentials.js", await (await import("./support/client-credentials.ts")).clientCredentials()),
  parameters: async () => write("src/catalog/parameters.txt", JSON.stringify((await import("./support/parameters.ts")).parameterSchemas())),
  openapi: async () => write("src/console/site/openapi.json", await (await import("./openapi/document.ts")).descriptionText()),
  site: async () => {
    const pages = await (await import("./support/docs.ts")).renderDocs();
    await write("src/console/search/docs-index.txt", await (await import("./support/docs-search.ts")).docsSearch(pages));
  },
};
/** Made only by name: the landing page's images by a gateway and Chromium, the bundle of a release from its commit. */
const named: Record<string, () => Promise<void>> = {
  media: () => import(new URL("site-media.ts", import.meta.url).href),
  released: () => import(new URL("released.ts", import.meta.url).href),
};

const all = { ...usual, ...named };
const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(usual);
const unknown = names.filter((name) => !Object.hasOwn(all, name));
if (unknown.length > 0) {
  console.error(`There is no ${unknown.join(", ")}: npm run generate [-- ${Object.keys(all).join(" | ")}]`);
  process.exitCode = 2;
} else for (const name of names) await all[name]?.();

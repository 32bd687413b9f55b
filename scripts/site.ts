/** `npm run site`: renders the documentation's Markdown into `src/console/site/docs.json`. Run it after a change of a page. */

import { writeFile } from "node:fs/promises";
import { renderDocs } from "./support/docs.ts";

await writeFile(new URL("../src/console/site/docs.json", import.meta.url), `${JSON.stringify(await renderDocs(), null, 1)}\n`);

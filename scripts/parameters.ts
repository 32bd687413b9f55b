/** `npm run parameters`: writes the JSON Schemas that `/v1/models` shows, after a change of the catalog. */

import { writeFile } from "node:fs/promises";
import { parameterSchemas } from "./support/parameters.ts";

await writeFile(new URL("../src/catalog/parameters.txt", import.meta.url), JSON.stringify(parameterSchemas()));

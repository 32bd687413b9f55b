/** `npm run parameters`: writes the JSON Schemas of `/v1/models`. Run it after a change of the catalog. */

import { writeFile } from "node:fs/promises";
import { parameterSchemas } from "./support/parameters.ts";

await writeFile(new URL("../src/catalog/parameters.txt", import.meta.url), JSON.stringify(parameterSchemas()));

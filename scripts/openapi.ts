/** `npm run openapi`: writes the description of the API that the console Worker serves, after a change of a path, schema or sentence. */

import { writeFile } from "node:fs/promises";
import { descriptionFile, descriptionText } from "./openapi/file.ts";

await writeFile(descriptionFile, await descriptionText());

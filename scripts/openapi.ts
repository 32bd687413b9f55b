/** `npm run openapi`: writes the API description that the console Worker serves. Run it after a change of a path, schema or message. */

import { writeFile } from "node:fs/promises";
import { descriptionFile, descriptionText } from "./openapi/file.ts";

await writeFile(descriptionFile, await descriptionText());

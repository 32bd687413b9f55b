/** `npm run decisions`: writes the index of `docs/decisions/` from the titles and dates of its records. */

import { writeFileSync } from "node:fs";
import { decisionsIndex, indexFile } from "./support/decisions.ts";

writeFileSync(indexFile, decisionsIndex());

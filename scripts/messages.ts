/** `npm run messages`: writes the text that the gateway reads its sentences from, after a change of them. */

import { writeFile } from "node:fs/promises";
import { translations } from "./support/messages.ts";

await writeFile(new URL("../src/messages/translations.txt", import.meta.url), translations());

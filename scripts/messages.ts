/** `npm run messages`: writes the file from which the gateway reads its messages. Run it after a change of them. */

import { writeFile } from "node:fs/promises";
import { translations } from "./support/messages.ts";

await writeFile(new URL("../src/messages/translations.txt", import.meta.url), translations());

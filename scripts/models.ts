/** `npm run tools -- models add MAKER MODEL [--id NAME] [--kind image|video|file]`: writes `models/NAME.json`, an entry with the model's own input. */

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import {
  fetchInputSchema,
  type MakerSettings,
  makersWithSchemas,
  type SchemaFault,
  toDraftEntry,
} from "../src/operations/maker-schemas.ts";
import { errorCode } from "./support/faults.ts";
import { modelsFolder } from "./support/models.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { id: { type: "string" }, kind: { type: "string" } },
});
const [action, maker, model] = positionals;
const fail = (text: string, code: number): never => {
  console.error(text);
  process.exit(code);
};

const toText = (fault: SchemaFault): string => {
  switch (fault.as) {
    case "unknown_maker":
      return `The schemas of ${maker} are not published: one of ${makersWithSchemas.join(", ")}.`;
    case "no_secret":
      return `${maker} needs ${fault.variable}.`;
    case "no_answer":
      return `${maker} did not answer with a schema of ${model} (status ${fault.status}).`;
    default:
      return `${maker} publishes no input of ${model}.`;
  }
};

if (action === "add" && maker !== undefined && model !== undefined) {
  const found = await fetchInputSchema(maker, model, { settings: process.env as MakerSettings });
  if (!("schema" in found)) fail(toText(found), 1);
  else {
    // Without a price the entry is refused: a model must not be sold at no price by mistake.
    const { id, entry } = toDraftEntry(maker, model, found.schema, values);
    const folder = modelsFolder(process.env);
    await mkdir(folder, { recursive: true });
    const file = join(folder, `${id}.json`);
    await writeFile(file, `${JSON.stringify(entry, null, 2)}\n`, { flag: "wx" }).catch((error: unknown) => {
      if (errorCode(error) !== "EEXIST") throw error;
      fail(`${file} exists already: name the model with --id, or take the file away.`, 1);
    });
    console.log(`${file}: check kind, write its price (docs/models.md), and take out state to sell it. npm run deploy stores it.`);
  }
} else fail(`npm run tools -- models add MAKER MODEL [--id NAME] [--kind image|video|file]; MAKER is ${makersWithSchemas.join(", ")}`, 2);

/** `npm run tools -- models add MAKER MODEL [--id NAME] [--kind image|video|file]`: writes `models/NAME.json`, an entry with the model's own input. */

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { fetchInputSchema, makersWithSchemas } from "./support/maker-schemas.ts";
import { modelsFolder } from "./support/models.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { id: { type: "string" }, kind: { type: "string" } },
});
const [action, maker, model] = positionals;
if (action !== "add" || maker === undefined || model === undefined) {
  console.error(
    `npm run tools -- models add MAKER MODEL [--id NAME] [--kind image|video|file]; MAKER is ${makersWithSchemas.join(" or ")}`,
  );
  process.exit(2);
}

/** By the model's name, as makers name them. */
const guessed = /video|veo|kling|wan|seedance|hailuo/i.test(model)
  ? "video"
  : /tts|speech|music|audio|voice|3d/i.test(model)
    ? "file"
    : "image";
const id =
  values.id ??
  model
    .split("/")
    .slice(1)
    .join("-")
    .replaceAll(/[^\w.-]/g, "-")
    .slice(0, 64);
const entry = {
  kind: values.kind ?? guessed,
  body: await fetchInputSchema(maker, model),
  // Refused until it is filled in: a model must not be sold at no price by mistake.
  price: {},
  state: "hidden",
  routes: [{ provider: maker, model }],
};
const folder = modelsFolder(process.env);
await mkdir(folder, { recursive: true });
const file = join(folder, `${id}.json`);
await writeFile(file, `${JSON.stringify(entry, null, 2)}\n`, { flag: "wx" });
console.log(`${file}: check kind, write its price (docs/models.md), and take out state to sell it. npm run deploy stores it.`);

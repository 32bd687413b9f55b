/** `models/*.json` and the variables of earlier releases at a deployment, and entries that the new release refuses. */

import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Cloud, startCloud } from "./cloud.ts";

let cloud: Cloud;
let deploy: (args: string[], variables?: Record<string, string>) => ReturnType<Cloud["npm"]>;
beforeAll(async () => {
  cloud = await startCloud();
  // The smallest deployment that makes a test image.
  deploy = (args, variables) => cloud.npm("deploy", [...args, "--without", "console,openai,mcp,marks"], variables);
  await mkdir(join(cloud.checkout, "models"));
});
afterAll(() => cloud.stop());

const text = { kind: "text", price: { input: 1, output: 2 }, routes: [{ provider: "sandbox", model: "textA-1" }] };
const write = (name: string, content: string | object) =>
  writeFile(join(cloud.checkout, "models", name), typeof content === "string" ? content : JSON.stringify(content));
const query = async (sql: string) => {
  const [id = ""] = cloud.account.databases.keys();
  const answers = (await cloud.runtime.query(id, sql)) as { results: Record<string, unknown>[] }[];
  return answers.flatMap(({ results }) => results);
};
const entries = async () =>
  (await query("SELECT id, entry FROM model ORDER BY revision")).map(({ id, entry }) => [id, JSON.parse(String(entry)) as unknown]);

test("a file that is no entry stops the deployment before anything is changed", async () => {
  await write("house.json", "[]");
  const { code, output } = await deploy(["--yes"]);
  expect([code, output]).toEqual([
    1,
    expect.stringContaining("models/house.json is not a JSON object.\n→ Correct it, and run the same command again."),
  ]);
  expect(cloud.account.names()).toEqual([]);
});

test("the plan names the models; they and the variables of earlier releases are stored", async () => {
  await write("house.json", text);
  await write("note.txt", "not a model");
  const variables = { PRICES: JSON.stringify({ "imgA-4": { image: 50_000 } }) };
  await writeFile(join(cloud.checkout, "old.env"), `ROUTES='${JSON.stringify({ "vidD-02": [] })}'\n`);
  const plan = await deploy(["--dry-run", "--secrets", "old.env"], variables);
  expect([plan.code, plan.output]).toEqual([0, expect.stringContaining("store the models house")]);
  const { code, output } = await deploy(["--yes", "--secrets", "old.env"], variables);
  expect([code, output]).toEqual([0, expect.stringContaining("store 1 model of the folder models")]);
  expect(output).toContain("move ROUTES and PRICES to the catalogue: vidD-02, imgA-4; take them out");
  expect(output).not.toContain("Warning");
  expect(await entries()).toEqual([
    ["vidD-02", { state: "hidden" }],
    ["imgA-4", { price: { image: 0.05 } }],
    ["house", text],
  ]);
});

test("of files that the gateway refuses none is stored, each wrong field is named, and the same command goes on when they are mended", async () => {
  const before = await entries();
  await write("house.json", { ...text, price: { input: 1, output: 3 } });
  await write("wrong.json", { ...text, routes: [{ provider: "nobody", model: "x" }] });
  const { code, output } = await deploy(["--yes"]);
  expect([code, output]).toEqual([
    1,
    expect.stringMatching(/none was stored\.\nmodels\/wrong\.json: routes\[0\]\.provider must be one of/),
  ]);
  expect(output).toContain("→ Correct it, and run the same command again. The models that are sold are unchanged.");
  expect(await entries()).toEqual(before);
  await rm(join(cloud.checkout, "models/wrong.json"));
  // Saved under rules of an earlier release: an alias that this release gives a built-in model.
  const clashing = JSON.stringify({ ...text, aliases: ["kling-v3"] });
  await query(`INSERT INTO model (revision, id, entry, at) VALUES (50, 'older', '${clashing}', 1)`);
  const again = await deploy(["--yes"]);
  expect([again.code, again.output]).toEqual([0, expect.stringContaining("store 1 model of the folder models")]);
  expect(again.output).toContain(
    "Warning: this release refuses your model older, which stays in use as it is: aliases[0] is already a name of the model kling-v3",
  );
  expect((await entries()).at(-1)).toEqual(["house", { ...text, price: { input: 1, output: 3 } }]);
});

test("another region than that of the first deployment is refused, because data does not move", async () => {
  const { code, output } = await deploy(["--dry-run", "--region", "apac"]);
  expect([code, output]).toEqual([
    1,
    expect.stringContaining("gateway was created without --region, and that cannot be changed.\n→ Leave --region out"),
  ]);
});

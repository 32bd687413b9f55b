/** The operator's models in files: what `npm run tools -- models` writes, and how a running gateway takes them. */

import { execFile } from "node:child_process";
import { createServer } from "node:http";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { AdminClient } from "../../scripts/support/admin-client.ts";
import { applyModels, readModelFiles, readOldVariables } from "../../scripts/support/models.ts";
import { listen } from "../../scripts/support/port.ts";
import { root } from "../../scripts/support/wrangler.ts";
import { gateway } from "./support/account.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "own-models-"));
  return async () => {
    await rm(folder, { recursive: true });
    // Other files use this gateway too.
    for (const id of ["files-one", "files-two", "files-raced", "files-speech", "vidB-3.1-fast", "vidB-3.1-quality"])
      await fetch(`${gateway.baseUrl}/admin/models/${id}?revision=${await revision(id)}`, {
        method: "DELETE",
        headers: { authorization: `Bearer ${gateway.adminToken}` },
      });
  };
});

const text = { kind: "text", price: { input: 1, output: 2 }, routes: [{ provider: "sandbox", model: "textA-1" }] };
const write = (id: string, entry: unknown) => writeFile(join(folder, `${id}.json`), JSON.stringify(entry));
const take = (...ids: string[]) => Promise.all(ids.map((id) => rm(join(folder, `${id}.json`))));
const admin = () => new AdminClient(gateway.baseUrl, gateway.adminToken);
const apply = async (client = admin()) => applyModels(client, await readModelFiles(folder));
const revision = async (id: string) => (await admin().modelEntry(id)).revision;

test("the files of a folder are stored, and those that did not change stay as they are", async () => {
  await write("files-one", text);
  await write("files-two", { ...text, aliases: ["files-2"] });
  expect(await apply()).toBe("files-one, files-two");
  const [one, two] = [await revision("files-one"), await revision("files-two")] as const;
  await write("files-two", { ...text, state: "hidden" });
  await apply();
  expect(await revision("files-one")).toBe(one);
  expect(await revision("files-two")).toBeGreaterThan(two);
  await take("files-one", "files-two");
});

test.each([
  ["no JSON object", [1], /^own-models-\w+\/files-bad\.json is not a JSON object\.$/],
  ["a wrong field", { ...text, rutes: [] }, /none was stored\.\nown-models-\w+\/files-bad\.json: rutes .*kind, /],
  ["several wrong fields", { ...text, price: { input: -1 } }, /files-bad\.json: price\.output .*; price\.input /],
])("a file with %s: the file and the field are named, and no other file is stored", async (_, entry, message) => {
  await write("files-good", text);
  await write("files-bad", entry);
  await expect(apply()).rejects.toThrow(message);
  expect(await revision("files-good")).toBe(0);
  await take("files-good", "files-bad");
});

test("a file that is no JSON is named with the place; one that begins with a byte order mark is read", async () => {
  await writeFile(join(folder, "files-bad.json"), '{"kind": "text",\n "price": {"input": 1,},}');
  await expect(apply()).rejects.toThrow(/files-bad\.json is not JSON: .*line 2/);
  await writeFile(join(folder, "files-bad.json"), `\uFEFF${JSON.stringify({ ...text, rutes: [] })}`);
  await expect(apply()).rejects.toThrow(/files-bad\.json: rutes /);
  await take("files-bad");
});

test("two files with one name: both are named, and neither is stored", async () => {
  await write("files-one", { ...text, aliases: ["files-same"] });
  await write("files-three", { ...text, aliases: ["files-same"] });
  await expect(apply()).rejects.toThrow(
    /none was stored\.\nown-models-\w+\/files-three\.json: files-same is a name of the model in own-models-\w+\/files-one\.json too/,
  );
  expect(await revision("files-three")).toBe(0);
  await take("files-one", "files-three");
});

test("names move between files in one go, and are exchanged", async () => {
  const aliases = async () => {
    const models = await admin().soldModels();
    return ["files-one", "files-two"].map((id) => models.find((model) => model.id === id)?.aliases);
  };
  await write("files-one", { ...text, aliases: ["files-latest", "files-1"] });
  await write("files-two", { ...text, aliases: ["files-2"] });
  await apply();
  await write("files-one", { ...text, aliases: ["files-1"] });
  await write("files-two", { ...text, aliases: ["files-2", "files-latest"] });
  await apply();
  expect(await aliases()).toEqual([["files-1"], ["files-2", "files-latest"]]);
  await write("files-one", { ...text, aliases: ["files-latest"] });
  await write("files-two", { ...text, aliases: ["files-1"] });
  await apply();
  expect(await aliases()).toEqual([["files-latest"], ["files-1"]]);
  await take("files-one", "files-two");
});

test("a change that another operator makes meanwhile is not overwritten: the file is named with what changed", async () => {
  await write("files-raced", text);
  await apply();
  await write("files-raced", { ...text, price: { input: 1, output: 3 } });
  class Raced extends AdminClient {
    override async putModel(id: string, entry: object, after: number, isDry = false) {
      // Between the check and the write.
      if (!isDry) await super.putModel(id, { ...text, price: { input: 1, output: 9 } }, after);
      return super.putModel(id, entry, after, isDry);
    }
  }
  await expect(apply(new Raced(gateway.baseUrl, gateway.adminToken))).rejects.toThrow(
    /files-raced\.json: revision was changed meanwhile: .*; price .*"output":9/,
  );
  expect((await admin().soldModels()).find(({ id }) => id === "files-raced")?.price).toMatchObject({ output_million_tokens: 9 });
  await take("files-raced");
});

test("the variables ROUTES and PRICES become entries once; what the operator changed since stays", async () => {
  const old = readOldVariables({
    ROUTES: JSON.stringify({ "vidB-3.1-fast": [{ provider: "sandbox", model: "vidB-3.1-fast" }], "vidB-3.1-quality": [] }),
    PRICES: { "vidB-3.1-fast": { second: 70_000 } },
  });
  expect(await applyModels(admin(), old, { isOnlyNew: true })).toBe("vidB-3.1-fast, vidB-3.1-quality");
  const models = await admin().soldModels();
  expect(models.find(({ id }) => id === "vidB-3.1-fast")).toMatchObject({ price: { second: 0.07 }, routes: [{ provider: "sandbox" }] });
  expect(models.find(({ id }) => id === "vidB-3.1-quality")?.state).toBe("hidden");
  expect(await applyModels(admin(), old, { isOnlyNew: true })).toBe("");
  expect(() => readOldVariables({ ROUTES: "[1]" })).toThrow("ROUTES is not a table.");
});

/** A maker that publishes the schema of one model. */
async function startMaker(): Promise<string> {
  const Input = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
  const server = createServer((request, response) => {
    const isKnown = request.url === "/v1/models/someone/speech" && request.headers.authorization === "Bearer r8_token";
    response.writeHead(isKnown ? 200 : request.headers.authorization === "Bearer r8_token" ? 404 : 401, {
      "content-type": "application/json",
    });
    response.end(JSON.stringify(isKnown ? { latest_version: { openapi_schema: { components: { schemas: { Input } } } } } : {}));
  });
  const address = await listen(server);
  onTestFinished(() => void server.close());
  return `http://${address}/v1`;
}

test("a maker's model becomes a file, which is refused until it has a price; every fault has its sentence and exit code", async () => {
  const base = await startMaker();
  const environment = { ...process.env, MODELS_DIR: folder, REPLICATE_BASE_URL: base, REPLICATE_API_TOKEN: "r8_token" };
  const run = (args: string[], variables: Record<string, string> = {}) =>
    new Promise<[code: number | string, output: string]>((resolve) =>
      execFile(
        process.execPath,
        ["scripts/tools.ts", "models", ...args],
        { cwd: root, env: { ...environment, ...variables } },
        (error, out, err) => resolve([error ? (error.code ?? "signal") : 0, out + err]),
      ),
    );
  const add = (...args: string[]) => run(["add", ...args]);
  const cases: [args: string[], code: number, output: RegExp, variables?: Record<string, string>][] = [
    [[], 2, /models add MAKER MODEL/],
    [["remove", "replicate", "someone/speech"], 2, /models add MAKER MODEL/],
    [["add", "nobody", "someone/speech"], 1, /one of fal, replicate, cloudflare/],
    [["add", "replicate", "someone/speech"], 1, /replicate needs REPLICATE_API_TOKEN\./, { REPLICATE_API_TOKEN: "" }],
    [["add", "replicate", "someone/speech"], 1, /did not answer .*\(status 401\)/, { REPLICATE_API_TOKEN: "other" }],
    [["add", "replicate", "someone/else"], 1, /replicate publishes no input of someone\/else\./],
    [["add", "replicate", "no-owner"], 1, /replicate publishes no input of no-owner\./],
  ];
  for (const [args, code, output, variables] of cases)
    expect([args, ...(await run(args, variables))]).toEqual([args, code, expect.stringMatching(output)]);
  expect(await readdir(folder)).toEqual([]);
  expect(await add("replicate", "someone/speech", "--id", "files-speech", "--kind", "file")).toEqual([
    0,
    expect.stringContaining("files-speech.json: "),
  ]);
  const entry = JSON.parse(await readFile(join(folder, "files-speech.json"), "utf8")) as object;
  expect(entry).toMatchObject({ kind: "file", state: "hidden", price: {}, routes: [{ provider: "replicate", model: "someone/speech" }] });
  expect(await add("replicate", "someone/speech", "--id", "files-speech")).toEqual([
    1,
    expect.stringContaining("files-speech.json exists already"),
  ]);
  await expect(apply()).rejects.toThrow(/files-speech\.json: price /);
  await write("files-speech", { ...entry, price: { task: 0.1 } });
  expect(await apply()).toBe("files-speech");
});

/** `npm run packages`: builds the clients into `clients/dist`: two npm packages, a wheel and a Go module, generated from the API description. */

import { execFile } from "node:child_process";
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { isInstalled } from "./support/installed.ts";
import { programIn, pythonWith } from "./support/python.ts";
import { root } from "./support/wrangler.ts";

const run = promisify(execFile);
const folder = (...names: string[]) => join(root, "clients", ...names);
const dist = folder("dist");
const isWindows = process.platform === "win32";

/** Runs a command in a client's folder. If it fails, throws with its output. */
async function build(client: string, command: string, ...args: string[]): Promise<void> {
  await run(command, args, { cwd: folder(client), maxBuffer: 64 * 1024 * 1024, shell: isWindows });
}

async function npmPackage(client: string): Promise<void> {
  await build(client, "npm", "ci", "--prefer-offline", "--no-audit", "--no-fund");
  // `npm pack` runs its `prepack` script, which builds it.
  await build(client, "npm", "pack", "--pack-destination", dist);
}

/**
 * The description with types of the Python client: a field of a body that takes the id of a file takes a file, which is uploaded first. The
 * name of a model that is not built in has the type `ModelName`, because Python cannot say "any text but these".
 */
async function withValues(): Promise<unknown> {
  const text = await readFile(join(root, "src/console/site/openapi.json"), "utf8");
  return JSON.parse(text, (_, value: { type?: string; description?: string; not?: object } | null) => {
    if (value?.type !== "string") return value;
    const type = value.not ? "ModelName" : value.description?.includes("id of a file (file_...)") && "FileSource";
    return type ? { ...value, customTypePath: `generation_gateway._values.${type}` } : value;
  });
}

async function wheel(): Promise<void> {
  const environment = folder("python", ".venv");
  const python = await pythonWith(environment, folder("python", "requirements.txt"));
  const types = folder("python", "src", "generation_gateway", "generated", "types.py");
  await mkdir(dirname(types), { recursive: true });
  await writeFile(join(dirname(types), "__init__.py"), "");
  const description = folder("python", "src", "generation_gateway", "generated", "openapi.json");
  await writeFile(description, JSON.stringify(await withValues()));
  const source = ["--input", description, "--input-file-type", "openapi", "--openapi-scopes", "schemas"];
  const form = ["--output-model-type", "typing.TypedDict", "--enum-field-as-literal", "all", "--target-python-version", "3.11"];
  const style = ["--use-union-operator", "--use-standard-collections", "--reuse-model", "--disable-timestamp", "--formatters", "builtin"];
  await build("python", programIn(environment, "datamodel-codegen"), ...source, ...form, ...style, "--output", types);
  await rm(description);
  await build("python", python, "tools/without_asyncio.py");
  await build("python", python, "-m", "build", "--wheel", "--no-isolation", "--outdir", dist);
}

/** The sources with the generated types: a module of Go is not packed. */
async function goModule(): Promise<void> {
  if (!(await isInstalled("go"))) return console.error("Go is not installed: clients/dist has no Go client.");
  const module = join(dist, "generation-gateway-go");
  await cp(folder("go"), module, { recursive: true });
  const args = ["--config", "config.yaml", join(root, "src/console/site/openapi.json")];
  await run("go", ["run", "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2", ...args], { cwd: module });
}

await rm(dist, { recursive: true, force: true });
await mkdir(dist, { recursive: true });
await Promise.all([npmPackage("typescript"), npmPackage("ai-sdk"), wheel(), goModule()]);

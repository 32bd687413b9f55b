/** What public generators make of the API description compiles and works: a submission and a stream, against a whole gateway. */

import { execFile } from "node:child_process";
import { copyFile, cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isInstalled } from "../../scripts/support/installed.ts";
import { programIn, pythonWith } from "../../scripts/support/python.ts";

const run = promisify(execFile);
const source = resolve("clients/generators");
const description = resolve("src/console/site/openapi.json");
/** A copy of the programs, beside which the clients are generated. */
let folder = "";
const done = "completed 0.03 invalid_request";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "gateway-generators-"));
  await cp(source, folder, { recursive: true, filter: (path) => !path.includes("node_modules") && !path.endsWith(".venv") });
  await run("npm", ["ci", "--prefer-offline", "--no-audit", "--no-fund"], { cwd: folder });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** The last line that a program prints. */
async function lastLine(command: string, args: string[], cwd: string): Promise<string> {
  const { stdout } = await run(command, args, { cwd, maxBuffer: 64 * 1024 * 1024 });
  return stdout.trim().split("\n").at(-1) ?? "";
}

test("Redocly has no objection to the description", async () => {
  const { stdout } = await run(
    process.execPath,
    ["node_modules/.bin/redocly", "lint", description, "--config", "redocly.yaml", "--format", "json"],
    {
      cwd: folder,
    },
  );
  expect(JSON.parse(stdout.slice(stdout.indexOf("{")))).toMatchObject({ totals: { errors: 0, warnings: 0 } });
});

test.concurrent("TypeScript: hey-api", async () => {
  const cwd = join(folder, "typescript");
  const bin = join(folder, "node_modules/.bin");
  await run(process.execPath, [join(bin, "openapi-ts"), "-i", description, "-f", "openapi-ts.config.ts"], { cwd });
  const types = ["--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2023,dom,dom.iterable", "--skipLibCheck"];
  const node = ["--types", "node", "--typeRoots", resolve("node_modules/@types")];
  await run(process.execPath, [join(bin, "tsc"), "--outDir", "out", "--rootDir", ".", ...types, ...node, "use.ts"], { cwd });
  expect(await lastLine(process.execPath, ["out/use.js"], cwd)).toBe(done);
});

test.concurrent("Python: openapi-python-client", async () => {
  const cwd = join(folder, "python");
  const environment = resolve("clients/generators/python/.venv");
  const python = await pythonWith(environment, join(source, "python/requirements.txt"));
  const config = ["--meta", "none", "--config", "generator.yml", "--output-path", "generated", "--overwrite"];
  await run(programIn(environment, "openapi-python-client"), ["generate", "--path", description, ...config], { cwd });
  await run(python, ["-W", "error", "-m", "compileall", "-q", "generated"], { cwd });
  expect(await lastLine(python, ["use.py"], cwd)).toBe(done);
});

test.concurrent("Go: oapi-codegen", async ({ skip }) => {
  if (!(await isInstalled("go"))) skip("Go is not installed");
  const cwd = join(folder, "go");
  await run("go", ["run", "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2", "--config", "config.yaml", description], {
    cwd,
  });
  await run("go", ["vet", "./..."], { cwd });
  expect(await lastLine("go", ["run", "."], cwd)).toBe(done);
});

/** Generates the client of a language into a folder of its own, by the settings in that language's folder. */
async function openApiGenerator(language: "java" | "rust"): Promise<string> {
  const environment = resolve("clients/generators/.venv");
  openApiGeneratorInstalled ??= pythonWith(environment, join(source, "openapi-generator.txt"));
  await openApiGeneratorInstalled;
  const cwd = join(folder, `${language}-client`);
  const settings = ["--config", join(source, language, "config.yaml"), "--output", cwd];
  await run(programIn(environment, "openapi-generator-cli"), ["generate", "--input-spec", description, ...settings], {
    maxBuffer: 64 * 1024 * 1024,
  });
  return cwd;
}
let openApiGeneratorInstalled: Promise<string> | undefined;

test.concurrent("Java: openapi-generator", async ({ skip }) => {
  if (!(await isInstalled("mvn"))) skip("Maven is not installed");
  const cwd = await openApiGenerator("java");
  await run("mvn", ["-q", "-B", "compile", "dependency:copy-dependencies", "-DoutputDirectory=target/lib"], { cwd });
  const classes = ["target/classes", "target/lib/*"].join(delimiter);
  expect(await lastLine("java", ["-cp", classes, join(source, "java/Use.java")], cwd)).toBe(done);
});

test.concurrent("Rust: openapi-generator", async ({ skip }) => {
  if (!(await isInstalled("cargo"))) skip("Cargo is not installed");
  const cwd = await openApiGenerator("rust");
  await copyFile(join(source, "rust/Cargo.lock"), join(cwd, "Cargo.lock"));
  // Without a library for TLS, which would take most of the time.
  await run("cargo", ["check", "--quiet", "--locked", "--no-default-features"], { cwd });
});

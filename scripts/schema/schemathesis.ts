/** Schemathesis itself: a Python environment of its own that is kept between runs, and one run of it. */

import { spawn } from "node:child_process";
import { access, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { root } from "../support/wrangler.ts";

const requirements = fileURLToPath(new URL("requirements.txt", import.meta.url));
const environment = join(root, ".venv", "schemathesis");

/** The answers of every request are held to these. */
const checks = [
  "not_a_server_error",
  "status_code_conformance",
  "content_type_conformance",
  "response_headers_conformance",
  "response_schema_conformance",
];

/** Makes the environment unless one with these very requirements is there; the path of the program. Throws when that fails. */
export async function installSchemathesis(signal: AbortSignal): Promise<string> {
  const program = join(environment, "bin", "schemathesis");
  const wanted = await readFile(requirements, "utf8");
  const mark = join(environment, "requirements.txt");
  const isThere =
    (await readFile(mark, "utf8").catch(() => "")) === wanted &&
    (await access(program).then(
      () => true,
      () => false,
    ));
  if (isThere) return program;
  console.log(`Installing schemathesis into ${environment} ...`);
  if ((await run("python3", ["-m", "venv", "--clear", environment], signal)) !== 0)
    throw new Error("python3 -m venv failed: Python 3.10 or later with venv is needed (Debian: python3-venv)");
  const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "-r", requirements];
  if ((await run(join(environment, "bin", "python"), pip, signal)) !== 0) throw new Error("pip could not install schemathesis");
  await writeFile(mark, wanted);
  return program;
}

/** Tests the operations with a matching path for this long; returns the exit code, 0 if every answer was allowed. The requests are the same in every run. */
export async function runSchemathesis(of: {
  program: string;
  /** The description. */
  file: string;
  baseUrl: string;
  /** For the settings: tokens do not belong on a command line. */
  stateDir: string;
  token: string;
  seconds: number;
  /** A regular expression. */
  paths: string;
  signal: AbortSignal;
}): Promise<number> {
  const settings = join(of.stateDir, "schemathesis.toml");
  await writeFile(settings, `base-url = "${of.baseUrl}"\nheaders = { Authorization = "Bearer ${of.token}" }\n`);
  const options = [
    `--include-path-regex=${of.paths}`,
    `--checks=${checks.join(",")}`,
    `--max-time=${of.seconds}`,
    "--request-timeout=30",
    "--warnings=off",
    "--generation-deterministic",
  ];
  return run(of.program, ["--config-file", settings, "run", of.file, ...options], of.signal);
}

/** Runs a program with this process's output; its exit code. */
function run(program: string, args: string[], signal: AbortSignal): Promise<number> {
  return new Promise((done, fail) => {
    // Local requests must not go through this machine's proxy.
    const env = { ...process.env, NO_PROXY: [process.env["NO_PROXY"], "127.0.0.1"].filter(Boolean).join(",") };
    const child = spawn(program, args, { stdio: "inherit", env, signal, cwd: root });
    child.on("error", fail);
    child.on("exit", (code) => done(code ?? 1));
  });
}

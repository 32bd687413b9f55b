/** Runs schemathesis in a Python environment that is kept between runs. */

import { spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { programIn, pythonWith } from "../support/python.ts";
import { root } from "../support/wrangler.ts";

const requirements = fileURLToPath(new URL("requirements.txt", import.meta.url));
const environment = join(root, ".venv", "schemathesis");

/** The longest time that a caller may ask an answer to wait (`wait`, at most 60 seconds), and some for the answer itself. */
const requestTimeoutSeconds = 90;

/** The checks for the answer to every request. */
const checks = [
  "not_a_server_error",
  "status_code_conformance",
  "content_type_conformance",
  "response_headers_conformance",
  "response_schema_conformance",
];

/** Creates the environment unless one with exactly these requirements exists; returns the program's path. Throws if that fails. */
export async function installSchemathesis(signal: AbortSignal): Promise<string> {
  console.log(`schemathesis is in ${environment}, or is installed there ...`);
  await pythonWith(environment, requirements, { isComplete: true, signal });
  return programIn(environment, "schemathesis");
}

/** Tests the operations with a matching path for this long; returns the exit code, 0 if every answer was allowed. The requests are the same in every run. */
export async function runSchemathesis(of: {
  program: string;
  /** The description. */
  file: string;
  baseUrl: string;
  /** The folder of the settings file: tokens must not be on a command line. */
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
    `--request-timeout=${requestTimeoutSeconds}`,
    "--warnings=off",
    "--generation-deterministic",
  ];
  return run(of.program, ["--config-file", settings, "run", of.file, ...options], of.signal);
}

/** Runs a program with this process's output; returns its exit code. */
function run(program: string, args: string[], signal: AbortSignal): Promise<number> {
  return new Promise((done, fail) => {
    // Local requests must not go through this machine's proxy.
    const env = { ...process.env, NO_PROXY: [process.env["NO_PROXY"], "127.0.0.1"].filter(Boolean).join(",") };
    const child = spawn(program, args, { stdio: "inherit", env, signal, cwd: root });
    child.on("error", fail);
    child.on("exit", (code) => done(code ?? 1));
  });
}

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
  const ask = () => run(of.program, ["--config-file", settings, "run", of.file, ...options], of.signal);
  const { code, output } = await ask();
  if (code === 0 || !isOnlyLost(output)) return code;
  console.log("Only connections inside wrangler dev were lost: the same requests once more.");
  return (await ask()).code;
}

/**
 * True if every failure is the text with which `wrangler dev` itself answers when its connection to the Worker closes, as after a body that
 * the Worker did not read. The gateway's own errors are JSON.
 */
export function isOnlyLost(output: string): boolean {
  const found = Number(/found (\d+) unique failures?/.exec(output)?.[1]);
  return found === output.match(/`Error: Network connection lost\.`/g)?.length;
}

/** Runs a program, and prints its output; returns it with the exit code. */
function run(program: string, args: string[], signal: AbortSignal): Promise<{ code: number; output: string }> {
  return new Promise((done, fail) => {
    // Local requests must not go through this machine's proxy.
    const env = { ...process.env, NO_PROXY: [process.env["NO_PROXY"], "127.0.0.1"].filter(Boolean).join(",") };
    const child = spawn(program, args, { stdio: ["inherit", "pipe", "inherit"], env, signal, cwd: root });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      process.stdout.write(text);
    });
    child.on("error", fail);
    child.on("close", (code) => done({ code: code ?? 1, output }));
  });
}

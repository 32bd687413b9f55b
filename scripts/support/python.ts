/** Python environments with pinned packages, which are kept between runs. */

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { root } from "./wrangler.ts";

const run = promisify(execFile);
const isWindows = process.platform === "win32";
const systemPython = process.env["PYTHON"] ?? (isWindows ? "python" : "python3");
const shared = join(root, ".venv");

/** A program of an environment, for example "python". */
export const programIn = (environment: string, name: string) => join(environment, isWindows ? "Scripts" : "bin", name);

/**
 * The interpreter of an environment with the packages of a requirements file, created again when that file changes. `isComplete`: the file
 * contains the dependencies too. Throws with the reason and the output if it cannot be created.
 */
export async function pythonWith(environment: string, requirements: string, { isComplete = false, signal }: Options = {}): Promise<string> {
  const pinned = await readFile(requirements, "utf8");
  const stamp = join(environment, "requirements.txt");
  const interpreter = programIn(environment, "python");
  if (existsSync(interpreter) && (await readFile(stamp, "utf8").catch(() => "")) === pinned) return interpreter;
  await newEnvironment(environment, signal);
  await install(interpreter, [...(isComplete ? ["--no-deps"] : []), "-r", requirements], signal);
  await writeFile(stamp, pinned);
  return interpreter;
}

interface Options {
  isComplete?: boolean;
  signal?: AbortSignal | undefined;
}

/** An empty environment, without pip: that takes most of the time that `python3 -m venv` needs. Returns its interpreter. */
export async function newEnvironment(environment: string, signal?: AbortSignal): Promise<string> {
  await rm(environment, { recursive: true, force: true });
  await mkdir(dirname(environment), { recursive: true });
  await venv(["--without-pip", environment], signal);
  return programIn(environment, "python");
}

/** Installs packages for an interpreter. Modules are compiled when they are first imported, because most never are. */
export async function install(interpreter: string, packages: string[], signal?: AbortSignal): Promise<void> {
  commonUv ??= makeCommonUv(signal);
  await run(await commonUv, ["pip", "install", "--quiet", "--python", interpreter, ...packages], { signal, maxBuffer: 64 * 1024 * 1024 });
}

/** Installs the same packages as pip in a small part of its CPU. */
const uv = "uv==0.13.9";
let commonUv: Promise<string> | undefined;

/** The program that installs for all environments, in one of its own. */
async function makeCommonUv(signal?: AbortSignal): Promise<string> {
  const environment = join(shared, uv.replace("==", "-"));
  if (!existsSync(environment)) {
    await mkdir(shared, { recursive: true });
    const made = await mkdtemp(join(shared, "uv-"));
    await venv([made], signal);
    await run(programIn(made, "python"), ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", uv], { signal });
    // Another process may have created it in the meantime: the first one is used.
    await rename(made, environment).catch(() => rm(made, { recursive: true, force: true }));
  }
  return programIn(environment, "uv");
}

async function venv(args: string[], signal?: AbortSignal): Promise<void> {
  try {
    await run(systemPython, ["-m", "venv", ...args], { signal });
  } catch (cause) {
    signal?.throwIfAborted();
    throw new Error("python3 -m venv failed: Python 3.10 or later with venv is needed (Debian: python3-venv).", { cause });
  }
}

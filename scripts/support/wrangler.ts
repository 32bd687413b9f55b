/** Runs wrangler, or a script that uses it, as a child process without its output, and stops it with all of its processes. */

import { spawn, type ChildProcess } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { errorCode } from "./faults.ts";

/** The project's root directory. */
export const root = fileURLToPath(new URL("../..", import.meta.url));

const keptOutput = 64 * 1024;
const graceMs = 5_000;

/** A running wrangler, or a script that uses it. */
export interface Wrangler {
  /** Resolves with the exit code when the process has ended; a signal counts as 1. */
  readonly exited: Promise<number>;
  /** The end of its output so far. */
  output(): string;
  /** Prints its output from now on, line by line as `format` returns them; undefined leaves a line out. */
  forward(format: (line: string) => string | undefined): void;
  /** Stops it and its children: first with a signal, then by force. Resolves when they have ended. */
  stop(): Promise<void>;
  /** Kills it and its children at once, like a crash of the machine does. Resolves when it has ended. */
  kill(): Promise<void>;
}

// The CLI file itself: the launcher in `bin` would be one more process to manage.
const commandLine = join(dirname(createRequire(import.meta.url).resolve("wrangler/package.json")), "wrangler-dist/cli.js");
/** A start of wrangler makes 100 MB of objects, which a young generation of the usual size copies several times: a fifth more CPU. */
const memory = ["--min-semi-space-size=64", "--max-semi-space-size=64"];
const preload = new URL("end-with-parent.ts", import.meta.url).href;

/**
 * Starts wrangler with these arguments. State other than the project's own (its registry of running Workers, caches) goes to `stateDir`. It is
 * stopped when the signal aborts.
 */
export function startWrangler(args: string[], stateDir: string, env: NodeJS.ProcessEnv, signal?: AbortSignal): Wrangler {
  return startScript(commandLine, args, stateDir, env, signal);
}

/** Starts a script for Node that uses wrangler's library, with the same settings. */
export function startScript(path: string, args: string[], stateDir: string, env: NodeJS.ProcessEnv, signal?: AbortSignal): Wrangler {
  const child = spawn(process.execPath, ["--no-warnings", ...(args[0] === "dev" ? [] : memory), "--import", preload, path, ...args], {
    cwd: root,
    env: { ...env, ...quietSettings(stateDir) },
    // A pipe that is never written to: it closes when this process ends, killed or not (see end-with-parent.ts).
    stdio: ["pipe", "pipe", "pipe"],
    // Its own process group, so that a Ctrl-C in the terminal reaches only this process, which then stops the group.
    detached: process.platform !== "win32",
  });
  let kept = "";
  let format: ((line: string) => string | undefined) | undefined;
  for (const [from, to] of [
    [child.stdout, process.stdout],
    [child.stderr, process.stderr],
  ] as const) {
    let begun = "";
    from.setEncoding("utf8").on("data", (text: string) => {
      kept = (kept + text).slice(-keptOutput);
      const lines = (begun + text).split("\n");
      begun = lines.pop() ?? "";
      for (const line of lines) {
        const shown = format?.(line);
        if (shown !== undefined) to.write(`${shown}\n`);
      }
    });
  }
  const exited = new Promise<number>((resolve) => {
    child.once("exit", (code) => resolve(code ?? 1));
    child.once("error", (error) => {
      kept += `\n${error.message}`;
      resolve(1);
    });
  });
  // A killed wrangler leaves its runtime processes behind: they are killed as a group.
  void exited.then(() => signalGroup(child, "SIGKILL"));
  // Writing to a wrangler that has just ended fails; `exited` reports that.
  child.stdin.on("error", () => undefined);

  const stop = async () => {
    child.stdin.end();
    signalGroup(child, "SIGTERM");
    const late = new AbortController();
    const force = sleep(graceMs, undefined, { signal: late.signal }).then(
      () => signalGroup(child, "SIGKILL"),
      () => undefined,
    );
    await exited;
    late.abort();
    await force;
  };
  const onAbort = () => void stop();
  signal?.addEventListener("abort", onAbort);
  void exited.then(() => signal?.removeEventListener("abort", onAbort));

  return {
    exited,
    output: () => kept,
    forward: (as) => {
      format = as;
    },
    stop,
    kill: async () => {
      signalGroup(child, "SIGKILL");
      await exited;
    },
  };
}

function signalGroup(child: ChildProcess, signal: "SIGTERM" | "SIGKILL"): void {
  if (child.pid === undefined) return;
  try {
    if (process.platform === "win32") child.kill(signal);
    else process.kill(-child.pid, signal);
  } catch (error) {
    if (errorCode(error) !== "ESRCH") throw error;
  }
}

const quietSettings = (stateDir: string) => ({
  CI: "true",
  // Wrangler is 15 MB of code: Node compiles it once.
  NODE_COMPILE_CACHE: join(root, "node_modules/.cache/wrangler"),
  WRANGLER_SEND_METRICS: "false",
  WRANGLER_HIDE_BANNER: "true",
  WRANGLER_WRITE_LOGS: "false",
  // Two gateways on one machine must not find each other's Workers.
  WRANGLER_REGISTRY_PATH: join(stateDir, "registry"),
  // Otherwise the runtime would fetch a sample request from the network.
  CLOUDFLARE_CF_FETCH_ENABLED: "false",
  CLOUDFLARE_LOAD_DEV_VARS_FROM_DOT_ENV: "true",
});

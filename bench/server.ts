/** A measured server: a host process of its own, which ends with this process. */

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { HostOptions, HostStarted } from "./host.ts";
import { processesBelow } from "./process-tree.ts";

export interface Server extends HostStarted {
  /** The process id of the runtime. */
  processes: number[];
  /** Stops the processes. */
  stop: () => Promise<void>;
}

const requireOfWrangler = createRequire(createRequire(import.meta.url).resolve("wrangler"));
/** The runtime of this project. */
export const workerd = (createRequire(requireOfWrangler.resolve("miniflare"))("workerd") as { default: string }).default;

/** A runtime that discards its log: a pipe would add the reader's wake-ups to each line. */
async function silentRuntime(dir: string): Promise<Record<string, string>> {
  if (process.platform !== "linux") return {};
  const path = join(dir, "workerd");
  await writeFile(path, `#!/bin/sh\nexec '${workerd}' "$@" > /dev/null\n`, { mode: 0o700 });
  return { MINIFLARE_WORKERD_PATH: path };
}

const host = fileURLToPath(new URL("host.ts", import.meta.url));

/** Starts a server with its state under `tempDir`, which the caller removes. */
export async function startServer(tempDir: string, options: Omit<HostOptions, "stateDir">): Promise<Server> {
  const stateDir = await mkdtemp(join(tempDir, "state-"));
  const child = fork(host, [JSON.stringify({ ...options, stateDir } satisfies HostOptions)], {
    execArgv: ["--no-warnings"],
    env: { ...process.env, ...(await silentRuntime(stateDir)) },
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const started = await new Promise<HostStarted>((resolve, reject) => {
    child.once("message", (message: HostStarted) => resolve(message));
    child.once("exit", (code) => reject(new Error(`a server did not start (exit code ${code})`)));
  });
  return { ...started, processes: await processesBelow(child.pid!), stop: () => stop(child) };
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const exit = once(child, "exit");
  child.disconnect();
  await exit;
}

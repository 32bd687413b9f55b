/** A measured server: started in a host process of its own, and ended with it. */

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { HostOptions, HostStarted } from "./host.ts";
import { processesBelow } from "./process-tree.ts";

export interface Server extends HostStarted {
  /** What the host has started: the runtime. */
  processes: number[];
  /** Ends all of them. */
  stop: () => Promise<void>;
}

const requireOfWrangler = createRequire(createRequire(import.meta.url).resolve("wrangler"));
const workerd = (createRequire(requireOfWrangler.resolve("miniflare"))("workerd") as { default: string }).default;

/** A runtime whose log goes nowhere: a pipe to the host would add the waking of its reader to each line. */
async function silentRuntime(dir: string): Promise<Record<string, string>> {
  if (process.platform !== "linux") return {};
  const path = join(dir, "workerd");
  await writeFile(path, `#!/bin/sh\nexec '${workerd}' "$@" > /dev/null\n`, { mode: 0o700 });
  return { MINIFLARE_WORKERD_PATH: path };
}

const host = fileURLToPath(new URL("host.ts", import.meta.url));

/** Starts a server whose state lives under `tempDir`, which is the caller's to remove. */
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

/** One workerd whose isolates have the memory of production: starts it, and reads what it uses. */

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import type { V4MiniflareOptions } from "miniflare";
import { unstable_getMiniflareWorkerOptions } from "wrangler";
import { cpuUs, processesBelow } from "../process-tree.ts";

// The one that wrangler brings: it belongs to the workerd of this project.
const requireOfWrangler = createRequire(createRequire(import.meta.url).resolve("wrangler"));
const { convertV4MiniflareOptions, Miniflare } = requireOfWrangler("miniflare") as typeof import("miniflare");

export interface Server {
  url: string;
  /** Processor time of workerd so far. */
  cpuMs: () => Promise<number>;
  /** Memory of workerd, all isolates and the storage simulators included: now, and the most since the start. */
  memoryMB: () => Promise<{ now: number; most: number }>;
  stop: () => Promise<void>;
}

/** Starts a bundled Worker without a proxy in front of it, the heap of each isolate held to `heapMB`. */
export async function start(configPath: string, script: string, stateDir: string, heapMB: number): Promise<Server> {
  process.env["MINIFLARE_WORKERD_V8_FLAGS"] = `--max-heap-size=${heapMB}`;
  const before = await processesBelow(process.pid);
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      ...unstable_getMiniflareWorkerOptions(configPath).workerOptions,
      name: "measured",
      modules: [{ type: "ESModule", path: script }],
      modulesRoot: dirname(script),
      modulesRules: undefined,
      unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
      resourcePersistencePath: stateDir,
      cf: false,
      handleStructuredLogs: ({ message }: { message: string }) => console.error(message),
    } as unknown as V4MiniflareOptions),
  );
  await miniflare.ready;
  const processes = (await processesBelow(process.pid)).filter((pid) => !before.includes(pid));
  return {
    url: (await miniflare.unsafeGetDirectURL("measured")).origin,
    cpuMs: async () => (await cpuUs(processes)) / 1000,
    memoryMB: async () => {
      const statuses = await Promise.all(processes.map((pid) => readFile(`/proc/${pid}/status`, "utf8")));
      const sum = (field: string) =>
        statuses.reduce((total, status) => total + Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1] ?? 0), 0) / 1024;
      return { now: Math.round(sum("VmRSS")), most: Math.round(sum("VmHWM")) };
    },
    stop: () => miniflare.dispose(),
  };
}

/** The measured gateway of large bodies and files, with its bucket in this process, and the limits that it must keep. */

import { join } from "node:path";
import { root } from "../../scripts/support/wrangler.ts";
import { bundleWorker } from "../build.ts";
import { gatewayBindings } from "../calls.ts";
import { Client } from "../load.ts";
import { cpuUs, processesBelow } from "../process-tree.ts";
import { startServer } from "../server.ts";
import { makeTempDir } from "../temporary.ts";
import { startBucket } from "./bucket.ts";

export const MiB = 1024 * 1024;
/** The memory of an isolate on the platform. */
export const heapMB = 128;

export interface MeasuredOptions {
  /** The heap limit of each isolate in MiB; undefined for no limit. */
  heapMB?: number;
  bindings?: Record<string, string>;
  /** True puts the OpenAI Worker behind it. */
  hasOpenai?: boolean;
  /** The script that runs in place of the gateway's, with its settings. */
  entry?: string;
}

/** Starts a gateway. `measure` must be called: it stops everything. */
export async function startMeasured({ bindings, hasOpenai = false, entry, ...limits }: MeasuredOptions) {
  const tempDir = await makeTempDir();
  const bucket = await startBucket();
  const server = await startServer(tempDir, {
    ...(await bundleWorker(join(root, "wrangler.toml"), tempDir, { entry })),
    ...(hasOpenai && { openai: await bundleWorker(join(root, "src/facades/openai/wrangler.toml"), tempDir) }),
    consumes: true,
    bindings: { ...gatewayBindings, ...bindings },
    bucket: bucket.address,
    ...limits,
  });
  const client = new Client(server.url);
  const failures: string[] = [];
  return {
    server,
    client,
    bucket,
    /** Records an exceeded limit: it is printed at the end, and the process then exits with 1. */
    must: (holds: boolean, what: string): void => {
      if (!holds) failures.push(what);
    },
    /** The result of the work, and the CPU time that the gateway used for it, in microseconds. */
    usedIn: async <T>(work: () => Promise<T>): Promise<{ result: T; us: number }> => {
      const before = await cpuUs(server.processes);
      const result = await work();
      return { result, us: (await cpuUs(server.processes)) - before };
    },
    /** Measures, stops everything, and prints the exceeded limits. */
    measure: async (work: () => Promise<void>): Promise<void> => {
      try {
        await work();
        // When an isolate's heap is full, workerd ends and miniflare starts another: the same process id means the same isolate.
        const running = (await processesBelow(process.pid)).filter((pid) => server.processes.includes(pid));
        if (running.length !== server.processes.length) failures.push("workerd died");
      } finally {
        client.close();
        await server.stop();
        bucket.close();
      }
      for (const failure of failures) console.error(failure);
      if (failures.length > 0) process.exitCode = 1;
    },
  };
}

/** Shared by both halves of the bench: a temporary folder, the exceeded limits, and the exit code. */

import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Client } from "../load.ts";
import { processesBelow } from "../process-tree.ts";
import type { Server } from "../server.ts";
import type { Bucket } from "./bucket.ts";

const failures: string[] = [];

/** Records an exceeded limit: it is printed at the end, and the process then exits with 1. */
export const must = (holds: boolean, what: string) => {
  if (!holds) failures.push(what);
};

/** A folder that is removed when the process ends, also by a signal. */
export async function makeTempDir(): Promise<string> {
  const tempDir = await mkdtemp(join(tmpdir(), "large-body-"));
  process.once("exit", () => rmSync(tempDir, { recursive: true, force: true }));
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));
  return tempDir;
}

/** Measures, stops all servers, and prints the exceeded limits. */
export async function report(
  { client, server, bucket }: { client: Client; server: Server; bucket: Bucket },
  measure: () => Promise<void>,
): Promise<void> {
  try {
    await measure();
    // When an isolate's heap is full, workerd ends and miniflare starts another: the same process id means the same isolate.
    const running = (await processesBelow(process.pid)).filter((pid) => server.processes.includes(pid));
    must(running.length === server.processes.length, "workerd died");
  } finally {
    client.close();
    await server.stop();
    bucket.close();
  }
  for (const failure of failures) console.error(failure);
  if (failures.length > 0) process.exitCode = 1;
}

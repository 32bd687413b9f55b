/** Keeps the temporary files of tests in memory: on a disk, a local database waits for the disk at every write. */

import { mkdtempSync, rmSync, statfsSync } from "node:fs";
import { join } from "node:path";

const memory = "/dev/shm";
/** The required size: all tests together write a third of this. */
const neededBytes = 3 * 1024 ** 3;

/**
 * Sets TMPDIR of this process and its children to a new folder in memory, which is deleted when this process ends. Does nothing if TMPDIR
 * is already set, or if the machine has not enough memory.
 */
export function keepTemporaryFilesInMemory(): void {
  if (process.env["TMPDIR"] || freeBytes() < neededBytes) return;
  const folder = mkdtempSync(join(memory, "gateway-"));
  process.env["TMPDIR"] = folder;
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
}

function freeBytes(): number {
  try {
    const { bavail, bsize } = statfsSync(memory);
    return bavail * bsize;
  } catch {
    return 0; // not Linux, or not mounted
  }
}

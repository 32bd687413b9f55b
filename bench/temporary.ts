/** Temporary folders of a benchmark. */

import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A folder in `parent` that is removed when the process ends, also by a signal. */
export async function makeTempDir(parent = tmpdir()): Promise<string> {
  const folder = await mkdtemp(join(parent, "gateway-bench-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));
  return folder;
}

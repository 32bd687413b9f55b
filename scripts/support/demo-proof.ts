/** The demo's last step: asks the gateway whether one of the demo's own files was made there, as anyone may. */

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

/** A file is known once its task's entry is in the database, some seconds after it has completed. */
const attempts = 20;
const pauseMs = 1_000;

/** The answer of `/v1/verify` about the file, without a key; undefined if the gateway does not know it. Other answers throw. */
export async function verifyFile(baseUrl: string, path: string): Promise<{ made_at: number; credentials: string } | undefined> {
  const sha256 = createHash("sha256")
    .update(await readFile(path))
    .digest("hex");
  for (let attempt = 1; attempt <= attempts; attempt++) {
    const response = await fetch(`${baseUrl}/v1/verify/${sha256}`);
    if (response.ok) return (await response.json()) as { made_at: number; credentials: string };
    await response.body?.cancel();
    if (response.status !== 404) throw new Error(`/v1/verify answered ${response.status}`);
    await sleep(pauseMs);
  }
  return undefined;
}

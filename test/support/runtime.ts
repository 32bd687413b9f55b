/** The runtime that test files share one after the other: its storage and modules, and how to get both anew. */

import { reset } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { vi } from "vitest";

interface Runtime {
  /** "new" for the first file after a start or a renewal; "alone" if the file may leave nothing to the next one. */
  state?: "new" | "shared" | "alone";
}

/** A property of the global object, because variables of modules do not outlive a renewal. */
export const runtime: Runtime = (Reflect.get(globalThis, "testRuntime") as Runtime | undefined) ?? {};
Reflect.set(globalThis, "testRuntime", runtime);

/** Deletes all storage, and lets the imports that follow load their modules anew. */
export async function renew(): Promise<void> {
  vi.resetModules();
  await empty();
  await migrate();
}

/** Creates the schema of the local D1 if it is missing, in one transaction for speed. */
export async function migrate(): Promise<void> {
  if (await isEmpty()) await env.DB.batch(env.TEST_MIGRATIONS.flatMap(({ queries }) => queries.map((query) => env.DB.prepare(query))));
}

const isEmpty = async () => (await env.DB.prepare("SELECT name FROM sqlite_master WHERE name = 'account'").first()) === null;

/** A call that has not ended yet may still hold the database open: then the next attempt deletes it. */
async function empty(attempts = 20): Promise<void> {
  await reset();
  if (await isEmpty()) return;
  if (attempts === 0) throw new Error("The storage of the test file before this one could not be deleted.");
  return empty(attempts - 1);
}

/**
 * Before each test file: creates the schema of the local D1 where it is missing, in one transaction for speed. Files follow each other in
 * one runtime; a file that must not see what others stored or what their modules learned gets both anew, and so does the file after it.
 */
import { reset } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, inject, vi } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    /** The ends of these files' paths. */
    alone: string[];
  }
}

const isEmpty = async () => (await env.DB.prepare("SELECT name FROM sqlite_master WHERE name = 'account'").first()) === null;

/** A call that has not ended yet may still hold the database open: then the next attempt deletes it. */
async function empty(attempts = 20): Promise<void> {
  await reset();
  if (await isEmpty()) return;
  if (attempts === 0) throw new Error("The storage of the test file before this one could not be deleted.");
  return empty(attempts - 1);
}

const { testPath = "" } = expect.getState();
const isAlone = inject("alone").some((file) => testPath.endsWith(file));
// Set by the file before this one: variables of modules do not outlive it.
if (isAlone || Reflect.get(globalThis, "wasAlone") === true) {
  vi.resetModules();
  await empty();
}
Reflect.set(globalThis, "wasAlone", isAlone);

if (await isEmpty()) await env.DB.batch(env.TEST_MIGRATIONS.flatMap(({ queries }) => queries.map((query) => env.DB.prepare(query))));

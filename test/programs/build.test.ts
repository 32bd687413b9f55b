/** All Workers bundle like in a deployment, and the gateway's script stays small, because its size adds to every cold start. */

import { stat } from "node:fs/promises";
import { expect, test } from "vitest";
import { keptBundles } from "../../scripts/support/bundles.ts";

/** Some KB above the script of today. What counts is the start-up itself (`npm run bench -- startup`, at most 25 ms above an empty Worker). */
const maxBytes = 560_000;
/**
 * Some KB above the script of today, 450 of it the API description, 70 the libraries of Markdown and search. Without better-auth, which would
 * add 500. The docs are a text beside the script.
 */
const maxConsoleBytes = 1_800_000;

/** The size of a Worker's bundled script in bytes. */
async function bundle(config: string): Promise<number> {
  const [script = ""] = await keptBundles([config]);
  return (await stat(script)).size;
}

test("the gateway's script is at most 560 KB minified", async () => {
  expect(await bundle("wrangler.toml")).toBeLessThanOrEqual(maxBytes);
});

test("the console's script does not contain what the auth Worker is for", async () => {
  expect(await bundle("src/console/wrangler.toml")).toBeLessThanOrEqual(maxConsoleBytes);
});

test.each([
  "src/sandbox/wrangler.toml",
  "src/console/auth/wrangler.toml",
  "src/facades/openai/wrangler.toml",
  "src/facades/mcp/wrangler.toml",
  "src/marks/wrangler.toml",
  "src/operations/wrangler.toml",
  "src/payments/wrangler.toml",
])("the Worker of %s bundles", async (config) => {
  expect(await bundle(config)).toBeGreaterThan(0);
});

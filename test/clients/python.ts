/** Runs programs with a client for Python in its environment, from `python/requirements/{environment}.txt`, against an account of its own. */

import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { readSamples } from "../../scripts/support/docs.ts";
import { pythonWith } from "../../scripts/support/python.ts";
import { pageNames } from "../../src/console/site/contents.ts";
import { newAccount } from "./account.ts";

const run = promisify(execFile);
const folder = fileURLToPath(new URL("python", import.meta.url));

const python = (environment: string) =>
  pythonWith(join(folder, ".venvs", environment), join(folder, "requirements", `${environment}.txt`), { isComplete: true });

/** Installs environments. All at once, because they mostly wait for downloads; before the tests, because some of these measure time. */
export const installBefore = (environments: readonly string[]) =>
  beforeAll(async () => {
    await Promise.all(environments.map(python));
  }, 600_000);

/** Runs a script of `python/`, with further variables. Returns what it cost. If it fails, throws with its output. */
export async function runScript(environment: string, script: string, more: Record<string, string> = {}): Promise<number> {
  const { baseURL, apiKey, used } = await newAccount();
  const variables = { PATH: process.env["PATH"], PYTHONWARNINGS: "ignore", API_KEY: apiKey, OPENAI_BASE: baseURL, ...more };
  await run(await python(environment), [join(folder, script)], { env: variables });
  return used();
}

/** The programs of the documentation's pages that are marked with an environment (`python agno`), as one for each page. */
export async function pagePrograms(environment: string): Promise<{ name: string; code: string }[]> {
  const pages = await Promise.all(
    pageNames.map(async (name) => {
      const blocks = (await readSamples(name)).filter((sample) => sample.environment === environment);
      return { name, code: blocks.map(({ code }) => code).join("\n\n") };
    }),
  );
  return pages.filter(({ code }) => code !== "");
}

/** Tests that the documentation's programs for a client succeed and print something. */
export async function testPages(word: string, environment = word): Promise<void> {
  const pages = await pagePrograms(word);
  test.each(pages)(`the documentation's programs for ${word} on $name succeed`, { timeout: 600_000 }, async ({ code }) => {
    const { baseURL, apiKey } = await newAccount();
    const own = await mkdtemp(join(tmpdir(), "docs-python-"));
    onTestFinished(() => rm(own, { recursive: true, force: true }));
    const { stdout } = await run(await python(environment), ["-c", code.replaceAll("https://gateway.example/openai/v1", baseURL)], {
      cwd: own,
      env: { PATH: process.env["PATH"], PYTHONWARNINGS: "ignore", API_KEY: apiKey },
    });
    expect(stdout).not.toBe("");
  });
}

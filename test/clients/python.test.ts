/** Official clients for Python, unchanged, each in a virtual environment of its own with pinned packages. */

import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { readSamples } from "../../scripts/support/docs.ts";
import { pythonWith } from "../../scripts/support/python.ts";
import { pageNames } from "../../src/console/site/contents.ts";
import { newAccount } from "./account.ts";

const run = promisify(execFile);
const folder = fileURLToPath(new URL("python", import.meta.url));

/** The interpreter with the packages of `requirements/{name}.txt`. */
const python = (name: string) =>
  pythonWith(join(folder, ".venvs", name), join(folder, "requirements", `${name}.txt`), { isComplete: true });

const requirements = (await readdir(join(folder, "requirements"))).map((file) => basename(file, ".txt"));

// All installations at once, because they mostly wait for downloads; before the tests, because some of these measure time.
beforeAll(async () => {
  await Promise.all(requirements.map(python));
}, 600_000);

test.each([
  // Two videos, two images, an edit, a video from an image, and the image whose request a client with a short timeout repeats.
  ["openai-2026", "openai_client.py", 1.36],
  ["openai-2025", "openai_client.py", 1.36],
  ["langchain", "langchain_client.py", undefined],
  ["litellm", "litellm_client.py", 0.4],
])("%s", { timeout: 600_000 }, async (name, script, price) => {
  const { baseURL, apiKey, used } = await newAccount();
  const variables = { PATH: process.env["PATH"], PYTHONWARNINGS: "ignore", API_KEY: apiKey, OPENAI_BASE: baseURL };
  // If the script fails, this test fails with the script's output.
  await run(await python(name), [join(folder, script)], { env: variables });
  // The cost of chats is negligible beside it.
  if (price !== undefined) expect(await used()).toBeCloseTo(price, 2);
});

/** The programs with OpenAI's client on each page of the documentation. */
const samples = await Promise.all(
  pageNames.map(async (name) => {
    const blocks = (await readSamples(name)).filter(({ language }) => language === "openai");
    return { name, code: blocks.map(({ code }) => code).join("\n\n") };
  }),
);
const pages = samples.filter(({ code }) => code !== "");

test("the pages about features of OpenAI's API show its client", () => {
  expect(pages.map(({ name }) => name).sort()).toEqual(["characters", "chat", "images", "openai", "videos"]);
});

test.each(pages)("the documentation's programs for OpenAI's client on $name succeed", { timeout: 600_000 }, async ({ code }) => {
  const { baseURL, apiKey } = await newAccount();
  const own = await mkdtemp(join(tmpdir(), "docs-openai-"));
  onTestFinished(() => rm(own, { recursive: true, force: true }));
  const program = code.replaceAll("https://gateway.example/openai/v1", baseURL);
  const { stdout } = await run(await python("openai-2026"), ["-c", program], {
    cwd: own,
    env: { PATH: process.env["PATH"], API_KEY: apiKey },
  });
  expect(stdout).not.toBe("");
});

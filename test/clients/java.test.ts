/** Official clients for Java, unchanged, which Maven downloads. */

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";
import { isInstalled } from "../../scripts/support/installed.ts";
import { newAccount } from "./account.ts";

const run = promisify(execFile);
const cwd = fileURLToPath(new URL("java", import.meta.url));
const hasMaven = await isInstalled("mvn");

beforeAll(async () => {
  if (hasMaven) await run("mvn", ["-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=target/lib"], { cwd });
}, 300_000);

test.skipIf(!hasMaven).each(["openai-java", "langchain4j"])("%s", async (name) => {
  const { baseURL, apiKey, used } = await newAccount();
  const variables = { PATH: process.env["PATH"], API_KEY: apiKey, OPENAI_BASE: baseURL };
  // If the program fails, this test fails with its output.
  await run("java", ["-cp", "target/lib/*", "Use.java", name], { cwd, env: variables });
  // One image; the cost of chats is negligible beside it.
  expect(await used()).toBeCloseTo(0.04, 2);
});

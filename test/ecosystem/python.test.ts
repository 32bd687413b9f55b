/** Programs that people put before OpenAI's API, for Python: `npm test -- --project ecosystem`. */

import { expect, test } from "vitest";
import { installBefore, runScript, testPages } from "../clients/python.ts";

installBefore(["langchain", "litellm", "llamaindex"]);

test("langchain", { timeout: 600_000 }, async () => {
  expect(await runScript("langchain", "langchain_client.py")).toBeGreaterThan(0);
});

test("litellm", { timeout: 600_000 }, async () => {
  expect(await runScript("litellm", "litellm_client.py")).toBeCloseTo(0.4, 2);
});

for (const environment of ["langchain", "litellm", "llamaindex"]) await testPages(environment);

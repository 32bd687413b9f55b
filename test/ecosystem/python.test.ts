/** Programs that people put before OpenAI's API, for Python: `npm test -- --project ecosystem`. */

import { expect, test } from "vitest";
import { readTexts } from "../../scripts/support/docs.ts";
import { installBefore, runScript, testPages } from "../clients/python.ts";

installBefore(["langchain", "litellm", "litellm-proxy", "llamaindex"]);

test("langchain", { timeout: 600_000 }, async () => {
  expect(await runScript("langchain", "langchain_client.py")).toBeGreaterThan(0);
});

test("litellm", { timeout: 600_000 }, async () => {
  expect(await runScript("litellm", "litellm_client.py")).toBeCloseTo(0.4, 2);
});

test("LiteLLM's proxy, with the configuration of its page", { timeout: 600_000 }, async () => {
  const [config = ""] = await readTexts("litellm");
  expect(await runScript("litellm-proxy", "litellm_proxy.py", { CONFIG: config })).toBeGreaterThan(0.03);
});

// Some two gigabytes of packages, without those for models on graphics cards: it starts and serves without them.
test("Open WebUI, with the variables of its page", { timeout: 1_800_000 }, async () => {
  const [config = ""] = await readTexts("open-webui");
  expect(await runScript("open-webui", "open_webui.py", { CONFIG: config })).toBeGreaterThan(0.03);
});

for (const environment of ["langchain", "litellm", "llamaindex"]) await testPages(environment);

/** Official clients and agents for Python, unchanged, each in a virtual environment of its own with pinned packages. */

import { expect, test } from "vitest";
import { installBefore, pagePrograms, runScript, testPages } from "./python.ts";

const agents = ["pydantic-ai", "agents", "instructor", "agno"];

installBefore(["openai-2026", "openai-2025", "c2pa", "s3-server", ...agents]);

test.concurrent.each(["openai-2026", "openai-2025"])("%s", { timeout: 600_000 }, async (environment) => {
  // Two videos, two images, an edit, a video from an image, and the image whose request a client with a short timeout repeats. The cost of
  // chats is negligible beside it.
  expect(await runScript(environment, "openai_client.py")).toBeCloseTo(1.36, 2);
});

test.each(agents)("%s", { timeout: 600_000 }, async (environment) => {
  expect(await runScript(environment, `${environment.replace("-", "_")}_client.py`)).toBeGreaterThan(0);
});

test("the pages about features of OpenAI's API show its client", async () => {
  expect((await pagePrograms("openai")).map(({ name }) => name).sort()).toEqual(["characters", "chat", "images", "openai", "videos"]);
});

await testPages("openai", "openai-2026");
for (const environment of agents) await testPages(environment);

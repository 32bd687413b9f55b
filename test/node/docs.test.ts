/** The pages of the documentation, what their search finds, and the size of their media files. */

import { readFileSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { expect, test } from "vitest";
import { docsSearch } from "../../scripts/support/docs-search.ts";
import { renderDocs } from "../../scripts/support/docs.ts";
import { pageFile, pageNames } from "../../src/console/site/contents.ts";
import { taskData } from "../../src/api/schema/tasks.ts";
import { errorTable } from "../../src/base/errors.ts";

const site = new URL("../../src/console/site/", import.meta.url);

test("the search index has the words of pages as they are read, and no code", async () => {
  const { storedFields } = JSON.parse(await docsSearch(await renderDocs())) as { storedFields: Record<string, { text: string }> };
  const texts = Object.values(storedFields).map(({ text }) => text);
  expect(texts.some((text) => text.includes("at least as long as Retry-After (errors)."))).toBe(true);
  for (const text of texts) expect(text).not.toMatch(/console\.log\(|print\(|await gateway\./);
});

test("every Markdown file is a page, except the request of the landing page", async () => {
  const files = (await readdir(new URL("docs/", site)))
    .filter((file) => file !== "landing.md")
    .map((file) => `src/console/site/docs/${file}`);
  const guides = pageNames.map(pageFile).filter((file) => file.startsWith("src/"));
  expect(files.sort()).toEqual(guides.sort());
});

test("the sandbox's samples are at most 300 KB together", async () => {
  const folder = new URL("media/", site);
  const sizes = await Promise.all((await readdir(folder)).map(async (name) => (await stat(new URL(name, folder))).size));
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(300_000);
});

test("the guide to errors lists every code with its status", () => {
  const guide = readFileSync(new URL("docs/errors.md", site), "utf8");
  const listed = [...guide.matchAll(/^\| `(\w+)` +\| (\d{3}) +\|/gm)].map(([, code, status]) => [code, Number(status)]);
  expect(Object.fromEntries(listed)).toEqual(Object.fromEntries(Object.entries(errorTable).map(([code, [status]]) => [code, status])));
});

test("section 2 of the contract names every field of a task", () => {
  const [answers = ""] = /^## 2\. [^]*?(?=^## 3\. )/m.exec(readFileSync(new URL("../../docs/contract.md", import.meta.url), "utf8")) ?? [];
  expect(Object.keys(taskData.shape).filter((field) => !new RegExp(`\\b${field}\\b`).test(answers))).toEqual([]);
});

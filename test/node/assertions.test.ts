/** Non-null assertions outside tests stay rare, because types should state what exists. */

import { execFileSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const folders = ["src", "scripts", "examples", "clients"];

test("there is at most one non-null assertion in 1,000 lines", () => {
  const rule = ["--disable-nested-config", "-A", "all", "-W", "typescript/no-non-null-assertion"];
  const report = execFileSync("npx", ["oxlint", ...rule, "--format", "json", ...folders], { encoding: "utf8", maxBuffer: 2 ** 24 });
  const { diagnostics } = JSON.parse(report) as { diagnostics: { code: string; filename: string; labels: { span: { line: number } }[] }[] };
  const found = diagnostics
    .filter(({ code }) => code.includes("no-non-null-assertion"))
    .map(({ filename, labels }) => `${filename}:${labels[0]?.span.line}`);
  const files = globSync(
    folders.map((folder) => `${folder}/**/*.{ts,tsx}`),
    { exclude: (path) => path.includes("node_modules") },
  );
  const lines = files.reduce((sum, file) => sum + readFileSync(file, "utf8").split("\n").length, 0);
  expect(lines).toBeGreaterThan(10_000);
  expect(found.length, found.join("\n")).toBeLessThanOrEqual(lines / 1000);
});

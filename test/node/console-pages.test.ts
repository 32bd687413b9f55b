/** The pages that browser tests and screenshots open are those that the console has. */

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");

test("each section of the console has a line in console-pages.ts", () => {
  const sections = [...read("src/console/pages.tsx").matchAll(/\.route\("(\/console\/[\w-]+)"/g)].map(([, path]) => path);
  expect(sections.length).toBeGreaterThan(15);
  const opened = read("scripts/support/console-pages.ts");
  // The documentation's requests have no page of their own.
  expect(sections.filter((path) => path !== "/console/try" && !opened.includes(`"${path}`))).toEqual([]);
});

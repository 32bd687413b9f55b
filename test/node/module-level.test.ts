/** What a module must not do when it is loaded, because every start of a Worker would wait for it. */

import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const files = globSync("src/**/*.{ts,tsx}", { exclude: (path) => path.includes(".wrangler") || path.includes("node_modules") });

test("no error is made when a module is loaded: the runtime traces its stack through the whole script", () => {
  expect(files.length).toBeGreaterThan(300);
  const made = /^(?:export )?(?:const|let) [^=]+= new \w*Error\(/m;
  expect(files.filter((file) => made.test(readFileSync(file, "utf8")))).toEqual([]);
  expect(made.test(`const full = new Error("full");`)).toBe(true);
});

test("the parser meets no expression with Unicode properties outside of functions with a body: it would search the tables of Unicode", () => {
  const made = /^(?:export )?const .*\\p\{.*\/[a-z]*[uv]/m;
  const started = files.filter((file) => !file.startsWith("src/sandbox/")); // whose start-up has no limit
  expect(started.filter((file) => made.test(readFileSync(file, "utf8")))).toEqual([]);
  expect(made.test(String.raw`const letters = /^\p{L}+$/u;`)).toBe(true);
});

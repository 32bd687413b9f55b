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

test("no literal of the gateway has Unicode properties: the parser would search the tables of Unicode at each start", () => {
  const started = files.filter((file) => !/^src\/(?:sandbox|facades|console)\//.test(file));
  const literal = /\/.*\\p\{.*\/[a-z]*[uv]/;
  expect(started.filter((file) => literal.test(readFileSync(file, "utf8")))).toEqual([]);
  expect(literal.test(String.raw`return /^\p{L}+$/u.test(text);`)).toBe(true);
});

/** The generated files are up to date. */

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { generated } from "../../scripts/support/generated.ts";

test.each(Object.values(generated))("$file is what `npm run generate` would write", async ({ file, make }) => {
  // Most are one line: a difference would print all of it.
  expect(readFileSync(new URL(`../../${file}`, import.meta.url), "utf8") === (await make()), "run `npm run generate`").toBe(true);
});

/** The cost of password hashes in production: the console's tests replace it in this very line (`vitest.config.ts`). */

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

test("passwords are hashed by scrypt with N 2^14, r 8, p 5", () => {
  const source = readFileSync(new URL("../../src/console/auth/password-hash.ts", import.meta.url), "utf8");
  expect(source.match(/^const cost = .*$/gm)).toEqual(["const cost = { N: 2 ** 14, r: 8, p: 5, maxmem: 64 * 1024 * 1024 };"]);
  expect(source.split("2 ** 14")).toHaveLength(2);
});

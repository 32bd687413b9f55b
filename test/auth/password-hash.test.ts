/** The hash of passwords, with the cost of production: tests of pages use a cheaper one (`vitest.config.ts`). */

import { expect, test } from "vitest";
import { hash, verify } from "../../src/console/auth/password-hash.ts";

test("a hash is scrypt with N 2^14, r 8, p 5, and its salt", async () => {
  // By Node's scryptSync.
  const known =
    "00112233445566778899aabbccddeeff:1e628bedc74b5221a201f329c634525a6b4c0baa53ae3e6ae8224fa02c1d07d5fe7a3c75212d2101196d9755fff534fec2c5014938d028b66991cc55c01e4926";
  expect(await verify({ hash: known, password: "correct horse battery" })).toBe(true);
  expect(await verify({ hash: known, password: "correct horse battery " })).toBe(false);
});

test("each hash has a salt of its own, and a password may be written in other code points", async () => {
  const [one, other] = await Promise.all([hash("caf\u00e9"), hash("caf\u00e9")]);
  expect(one).not.toBe(other);
  expect(await verify({ hash: one, password: "cafe\u0301" })).toBe(true);
});

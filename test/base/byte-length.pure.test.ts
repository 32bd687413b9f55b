/** Counting the bytes of a text, by which chats are held and charged. */

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { byteLength } from "../../src/base/byte-length.ts";

test("a text has as many bytes as an encoder writes, also with broken pairs of surrogates", () => {
  const unit = fc.oneof(
    fc.constantFrom(0x41, 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xd800, 0xdbff, 0xdc00, 0xdfff, 0xe000, 0xffff),
    fc.nat(0xffff),
  );
  fc.assert(
    fc.property(fc.array(unit, { maxLength: 40 }), (units) => {
      const text = String.fromCharCode(...units);
      expect(byteLength(text)).toBe(new TextEncoder().encode(text).length);
    }),
    { numRuns: 1_000 },
  );
});

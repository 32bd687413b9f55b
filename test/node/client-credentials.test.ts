/** The reader of manifests for browsers is the gateway's own, and finds the same. */

import { readFileSync } from "node:fs";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { signed } from "../media/signed.ts";
import { jpeg, png } from "../media/images.ts";

const text = readFileSync(new URL("../../src/console/client/credentials.js", import.meta.url), "utf8");

test("as a script it finds manifests", () => {
  const page = { String, DataView, Uint8Array, Number, Set, Math } as {
    credentialReader?: (type: string) => { push(bytes: Uint8Array): void; found: boolean };
  };
  runInNewContext(text, page);
  const search = (type: string, bytes: Uint8Array) => {
    const reader = page.credentialReader!(type);
    reader.push(bytes);
    return reader.found;
  };
  expect([search("image/png", signed.png()), search("image/jpeg", signed.jpeg()), search("image/webp", signed.webp())]).toEqual([
    true,
    true,
    true,
  ]);
  expect([search("image/png", png), search("image/jpeg", jpeg)]).toEqual([false, false]);
});

/** The generated text file of translations matches the message files. */

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { translations } from "../../scripts/support/messages.ts";

test("translations.txt is what `npm run generate` would write", () => {
  expect(readFileSync(new URL("../../src/messages/translations.txt", import.meta.url), "utf8")).toBe(translations());
});

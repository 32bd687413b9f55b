/** The text with the sentences in other languages is what their files say. */

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { translations } from "../../scripts/support/messages.ts";

test("translations.txt is what `npm run messages` would write", () => {
  expect(readFileSync(new URL("../../src/messages/translations.txt", import.meta.url), "utf8")).toBe(translations());
});

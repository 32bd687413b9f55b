/** The JSON Schemas that `/v1/models` returns match the catalog. */

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parameterSchemas } from "../../scripts/support/parameters.ts";

test("parameters.txt is what `npm run generate` would write", () => {
  const written = readFileSync(new URL("../../src/catalog/parameters.txt", import.meta.url), "utf8");
  expect(JSON.parse(written)).toEqual(JSON.parse(JSON.stringify(parameterSchemas())));
});

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { decisionsIndex, indexFile } from "../../scripts/support/decisions.ts";

test("the index of the decisions lists every record", () => {
  expect(readFileSync(indexFile, "utf8")).toBe(decisionsIndex());
});

/** A run of schemathesis is repeated only if nothing but connections of the local simulator failed. */

import { expect, test } from "vitest";
import { isOnlyLost } from "../../scripts/schema/schemathesis.ts";

const lost = "- ST101 Server error\n\n[500] Internal Server Error:\n\n    `Error: Network connection lost.`\n";
const summary = (failures: number) =>
  `Test cases:\n  620 generated, ${failures} found ${failures} unique failure${failures === 1 ? "" : "s"}\n`;

test.for([
  ["one lost connection", lost + summary(1), true],
  ["two lost connections", lost + lost + summary(2), true],
  ["a lost connection and another failure", lost + summary(2), false],
  ["an error of the gateway", `[500] Internal Server Error:\n\n    {"error": {"code": "internal_error"}}\n${summary(1)}`, false],
  ["a run that broke off", "Traceback (most recent call last):", false],
] as const)("%s", ([, output, isLost]) => {
  expect(isOnlyLost(output)).toBe(isLost);
});

/** The lines that `npm start` pins at a terminal. */

import { expect, test } from "vitest";
import { pinned } from "../../scripts/support/pinned.ts";

test("the lines stay above a region that scrolls, however many rows they take", () => {
  const text = pinned(["Console http://localhost:8787", "x".repeat(100)], { rows: 40, columns: 60 })!;
  // One row, two rows, and the rule: the region begins in the fifth.
  expect(text.startsWith("\u001b[5;40r\u001b[1;1H")).toBe(true);
  expect(text).toContain("Console http://localhost:8787\r\n");
  expect(text.endsWith("\u001b[40;1H")).toBe(true);
});

test("a low terminal pins nothing", () => {
  expect(pinned(["Console"], { rows: 11, columns: 80 })).toBeUndefined();
});

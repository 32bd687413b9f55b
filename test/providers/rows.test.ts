/** What an image writes and calls whose provider answers with it at once. */

import { afterEach, expect, test, vi } from "vitest";
import { operations, rows, together } from "../../scripts/support/operations.ts";
import { complete, holdTime, newAccount, unique } from "../support/gateway.ts";
import { expectAgrees, measureTasks } from "../support/meter.ts";

holdTime();
afterEach(() => vi.restoreAllMocks());

test("an image that is answered at once", async () => {
  const path = "/v1/images/generations";
  const image = () => ({ model: "imgA-4", prompt: unique() });
  await complete(await newAccount(), path, image());
  const each = await measureTasks(together, path, image, true);
  expectAgrees(each, operations.image);
  expect(rows(each)).toBeLessThanOrEqual(14);
});

/** Pages and settings that repeat a number of the code have the number of the code. */

import { expect, test } from "vitest";
import performance from "../../docs/performance.md?raw";
import { dollars, rows as rowsOf } from "../../scripts/support/operations.ts";
import { assetSeconds, recordSeconds } from "../../src/base/life-times.ts";
import { maxImageBytes } from "../../src/catalog/fields.ts";
import { deadlineSeconds } from "../../src/catalog/models.ts";
import deliveryGuide from "../../src/console/site/docs/delivery.md?raw";
import limitsGuide from "../../src/console/site/docs/limits.md?raw";
import webhooksGuide from "../../src/console/site/docs/webhooks.md?raw";
import { deliveryDelaysMs } from "../../src/tasks/transitions/delivery.ts";
import { retryDelaysMs } from "../../src/tasks/transitions/receiver-calls.ts";
import settings from "../../wrangler.toml?raw";
import { expected } from "../support/counts.ts";

/** `1 hour`, `30 seconds`, as guides write a time. */
function inWords(ms: number): string {
  const [size, unit] = ms >= 3_600_000 ? [3_600_000, "hour"] : ms >= 60_000 ? [60_000, "minute"] : [1_000, "second"];
  return `${ms / size} ${unit}${ms === size ? "" : "s"}`;
}

/** The cells of a table's rows by the first one. */
const readTable = (page: string) =>
  new Map(
    [...page.matchAll(/^\| (.+?) +\| (.+) \|$/gm)].map(([, name = "", cells = ""]) => [name, cells.split("|").map((cell) => cell.trim())]),
  );

test("the guide of webhooks names every delay between attempts", () => {
  const delays = retryDelaysMs.map(inWords);
  expect(webhooksGuide).toContain(`tries again after ${delays.slice(0, -1).join(", ")} and ${delays.at(-1)}, then stops`);
});

test("the queue repeats a budget alert as often as a webhook is repeated", () => {
  const [, consumer = ""] = settings.split('queue = "gateway-notify"\nmax_batch_size');
  expect(Number(/^max_retries = (\d+)/m.exec(consumer)?.[1])).toBe(retryDelaysMs.length);
});

test("the guide of deliveries names every delay between attempts", () => {
  const delays = deliveryDelaysMs.map(inWords);
  expect(deliveryGuide).toContain(`tries again after ${delays.slice(0, -1).join(", ")}, and then every ${delays.at(-1)}`);
});

test("the guide of limits has the deadline of each kind, the lifetimes, and the size of an image", () => {
  const rows = readTable(limitsGuide);
  expect(rows.get("an image task may take")).toEqual([`${deadlineSeconds.image} seconds`]);
  expect(rows.get("a character")).toEqual([`${deadlineSeconds.character} seconds`]);
  expect(rows.get("a video, a remix or another file")).toEqual([`${deadlineSeconds.video} seconds`]);
  expect([deadlineSeconds.remix, deadlineSeconds.file]).toEqual([deadlineSeconds.video, deadlineSeconds.video]);
  expect(rows.get("an image")?.[0]).toContain(`${maxImageBytes / 1024 / 1024} MiB`);
  expect(rows.get("URL of a file")?.[0]).toMatch(new RegExp(`^${assetSeconds / 3600} hours `));
  expect(rows.get("record of a task, its receipt")?.[0]).toMatch(new RegExp(`^${recordSeconds / 86_400} days `));
});

test("each rate limit is the same in its binding, in the variable that headers show, and in the guide of limits", () => {
  const bindings = new Map(
    [...settings.matchAll(/^name = "(\w+)"\n.*\nsimple = \{ limit = (\d+)/gm)].map(([, name = "", limit = ""]) => [name, limit]),
  );
  const variables = [...settings.matchAll(/^(\w+)_PER_MINUTE = "(\d+)"/gm)];
  expect(variables).toHaveLength(6);
  for (const [, name = "", limit] of variables) expect(bindings.get(name), name).toBe(limit);
  const guide = readTable(limitsGuide);
  for (const [row, kind] of [
    ["submissions, chats", "SUBMISSIONS"],
    ["reads, dry runs", "READS"],
  ] as const)
    expect(guide.get(row)).toEqual(["", "ACCOUNT_", "TOKEN_"].map((whose) => bindings.get(whose + kind)));
});

test("the prices of tasks and chats are those of the counts that tests expect", () => {
  const table = readTable(performance);
  const kinds = Object.entries(expected).filter(([kind]) => table.has(kind));
  expect(kinds.length).toBeGreaterThanOrEqual(9);
  for (const [kind, { counts }] of kinds) {
    const { d1Rows, objectRows, alarmRows, objectCalls, d1Calls, messages } = counts;
    // The bytes of log lines vary by some, which is less than a cent.
    const operations = { ...counts, logBytes: 300 };
    const cells = (table.get(kind) ?? []).map(Number);
    expect(cells.slice(0, 7), kind).toEqual(
      [rowsOf(operations), d1Rows, objectRows, alarmRows, objectCalls, d1Calls, messages].map((count) => Number(count.toFixed(2))),
    );
    expect(cells[7], kind).toBeCloseTo(dollars(operations), 1);
  }
});

/** Pages and settings that repeat a number of the code have the number of the code. */

import { expect, test } from "vitest";
import { maxImageBytes } from "../../src/catalog/fields.ts";
import { deadlineSeconds } from "../../src/catalog/models.ts";
import deliveryGuide from "../../src/console/site/docs/delivery.md?raw";
import limitsGuide from "../../src/console/site/docs/limits.md?raw";
import webhooksGuide from "../../src/console/site/docs/webhooks.md?raw";
import { deliveryDelaysMs } from "../../src/tasks/transitions/delivery.ts";
import { retryDelaysMs } from "../../src/tasks/transitions/receiver-calls.ts";
import settings from "../../wrangler.toml?raw";

/** `1 hour`, `30 seconds`, as guides write a time. */
function inWords(ms: number): string {
  const [size, unit] = ms >= 3_600_000 ? [3_600_000, "hour"] : ms >= 60_000 ? [60_000, "minute"] : [1_000, "second"];
  return `${ms / size} ${unit}${ms === size ? "" : "s"}`;
}

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

test("the guide of limits has the deadline of each kind, and the size of an image", () => {
  const rows = new Map([...limitsGuide.matchAll(/^\| (.+?) +\| (.+?) +\|$/gm)].map(([, name = "", value = ""]) => [name, value]));
  expect(rows.get("an image task may take")).toBe(`${deadlineSeconds.image} seconds`);
  expect(rows.get("a character")).toBe(`${deadlineSeconds.character} seconds`);
  expect(rows.get("a video or a remix")).toBe(`${deadlineSeconds.video} seconds`);
  expect(deadlineSeconds.remix).toBe(deadlineSeconds.video);
  expect(rows.get("an image")).toContain(`${maxImageBytes / 1024 / 1024} MiB`);
});

/** Pages and settings that repeat a number of the code have the number of the code. */

import { expect, test } from "vitest";
import performance from "../../docs/performance.md?raw";
import architecture from "../../docs/architecture.md?raw";
import readme from "../../README.md?raw";
import security from "../../SECURITY.md?raw";
import { dollars, rows as rowsOf } from "../../scripts/support/operations.ts";
import { fileLife, inWords, listInWords, recordLife } from "../../scripts/support/time-words.ts";
import { maxUnknown } from "../../src/api/request/strangers.ts";
import { maxImageBytes } from "../../src/catalog/fields.ts";
import { deadlineSeconds, pollSeconds } from "../../src/catalog/models.ts";
import { maxPrompt } from "../../src/catalog/schemas.ts";
import agentsGuide from "../../src/console/site/docs/agents.md?raw";
import batchesGuide from "../../src/console/site/docs/batches.md?raw";
import deliveryGuide from "../../src/console/site/docs/delivery.md?raw";
import errorsGuide from "../../src/console/site/docs/errors.md?raw";
import idempotencyGuide from "../../src/console/site/docs/idempotency.md?raw";
import imagesGuide from "../../src/console/site/docs/images.md?raw";
import indexGuide from "../../src/console/site/docs/index.md?raw";
import limitsGuide from "../../src/console/site/docs/limits.md?raw";
import openaiGuide from "../../src/console/site/docs/openai.md?raw";
import tasksGuide from "../../src/console/site/docs/tasks.md?raw";
import videosGuide from "../../src/console/site/docs/videos.md?raw";
import webhooksGuide from "../../src/console/site/docs/webhooks.md?raw";
import description from "../../src/console/site/openapi.json?raw";
import { deliveryDelaysMs } from "../../src/tasks/transitions/delivery.ts";
import { callTimeoutMs, retryDelaysMs } from "../../src/tasks/transitions/receiver-calls.ts";
import { claimMs } from "../../src/tasks/transitions/task.ts";
import settings from "../../wrangler.toml?raw";
import { expected } from "../support/counts.ts";

/** The cells of a table's rows by the first one. */
const readTable = (page: string) =>
  new Map(
    [...page.matchAll(/^\| (.+?) +\| (.+) \|$/gm)].map(([, name = "", cells = ""]) => [name, cells.split("|").map((cell) => cell.trim())]),
  );

test("the guide of webhooks names every delay between attempts", () => {
  expect(webhooksGuide).toContain(`tries again after ${listInWords(retryDelaysMs)}, then stops`);
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
  expect(rows.get("prompt")).toEqual([`${maxPrompt.image} characters for images, ${maxPrompt.video} for videos`]);
  expect(rows.get("idempotency key")).toEqual([inWords(claimMs)]);
  expect(rows.get("URL of a file")?.[0]).toMatch(new RegExp(`^${fileLife} `));
  expect(rows.get("record of a task, its receipt")?.[0]).toMatch(new RegExp(`^${recordLife} `));
});

test.each([
  ["index.md", indexGuide, `download the files within ${fileLife}.`, `works for ${fileLife}:`],
  [
    "tasks.md",
    tasksGuide,
    `the files are ready for ${fileLife} `,
    `A task is kept for ${recordLife} after its end`,
    `of the last ${recordLife}, oldest first`,
  ],
  ["batches.md", batchesGuide, `Files are deleted after ${fileLife}, like those of every task`],
  ["delivery.md", deliveryGuide, `stay at the gateway for ${fileLife} as usual`],
  ["errors.md", errorsGuide, `the file's ${fileLife} are over`],
  ["openai.md", openaiGuide, `name the images by URL, valid for ${fileLife};`],
  ["images.md", imagesGuide, `1 to ${maxPrompt.image} characters`],
  ["videos.md", videosGuide, `\`prompt\` is 1 to ${maxPrompt.video} characters.`],
  ["idempotency.md", idempotencyGuide, `For ${inWords(claimMs)}, the same key`],
  ["agents.md", agentsGuide, `the same call within ${inWords(claimMs)} is one task`],
  [
    "/openapi.json",
    description,
    `Without a 2xx within ${inWords(callTimeoutMs)} it is sent again after ${listInWords(retryDelaysMs)}.`,
    `For ${inWords(claimMs)} the same key`,
  ],
  ["README.md", readme, `downloads the files within ${fileLife}`],
  ["architecture.md", architecture, `deletes the files after ${fileLife}`],
  ["SECURITY.md", security, `| ${fileLife}, deleted within a minute |`, `| ${recordLife} after its end;`],
])("%s has the times and limits of the code", (_, page, ...sentences) => {
  for (const sentence of sentences) expect(page).toContain(sentence);
});

test("the guide of tasks has the pause between status queries of each kind", () => {
  const { image, character, video, remix, file } = pollSeconds;
  expect(tasksGuide).toContain(
    `\`Retry-After\`: ${image} seconds for images, ${character} for characters, ${video} for videos and remixes`,
  );
  expect([remix, file]).toEqual([video, video]);
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
  expect(bindings.get("UNKNOWN_KEYS")).toBe(`${maxUnknown}`);
  expect(limitsGuide).toContain(`An address that sends ${maxUnknown} unknown keys in a minute`);
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

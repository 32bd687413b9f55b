/**
 * `npm run tools -- price`: counts the platform operations of whole lives of tasks and chats at the bindings, and prints them with their cost for a million at Cloudflare's list
 * prices, above what the plan includes. Runs the lives of `test/tasks/rows.test.ts` and `test/providers/rows.test.ts`, which takes a minute; exits 1 if one fails there.
 */

import { startVitest } from "vitest/node";
import { type Counted, costs, dollars, logGigabytes, rows } from "./support/operations.ts";
import { table } from "./support/table.ts";
import { root } from "./support/wrangler.ts";

const files = ["test/tasks/rows.test.ts", "test/providers/rows.test.ts"];

const vitest = await startVitest("test", files, { root, run: true, watch: false, reporters: [{}] });
const modules = vitest.state.getTestModules();
const tests = modules.flatMap(({ children }) => [...children.allTests()]);
const lives = tests.flatMap((test) => test.meta().counted ?? []);
const failed = [
  ...modules.flatMap((module) => module.errors()),
  ...vitest.state.getUnhandledErrors(),
  ...tests.flatMap((test) => test.result().errors ?? []),
];
await vitest.close();

const columns: Record<string, (counted: Counted) => string> = {
  kind: ({ kind }) => kind,
  rows: ({ operations }) => rows(operations).toFixed(2),
  "D1 rows": ({ operations }) => operations.d1Rows.toFixed(2),
  "object rows": ({ operations }) => operations.objectRows.toFixed(2),
  "alarms set": ({ operations }) => operations.alarmRows.toFixed(2),
  requests: ({ operations }) => operations.requests.toFixed(2),
  "object calls": ({ operations }) => operations.objectCalls.toFixed(2),
  alarms: ({ operations }) => operations.alarms.toFixed(2),
  "D1 calls": ({ operations }) => operations.d1Calls.toFixed(2),
  messages: ({ operations }) => operations.messages.toFixed(2),
  "R2 writes": ({ operations }) => operations.classA.toFixed(2),
  "R2 reads": ({ operations }) => operations.classB.toFixed(2),
  "log lines": ({ operations }) => operations.logLines.toFixed(2),
  "log bytes": ({ operations }) => operations.logBytes.toFixed(0),
  "log GB a million": ({ operations }) => logGigabytes(operations).toFixed(2),
  "dollars: rows": ({ operations }) => costs(operations).rows.toFixed(2),
  "requests, calls": ({ operations }) => costs(operations).requests.toFixed(2),
  queues: ({ operations }) => costs(operations).queues.toFixed(2),
  files: ({ operations }) => costs(operations).files.toFixed(2),
  log: ({ operations }) => costs(operations).log.toFixed(2),
  "dollars for a million": ({ operations }) => dollars(operations).toFixed(2),
};
console.log(
  table(
    Object.keys(columns),
    lives.map((counted) => Object.values(columns).map((toText) => toText(counted))),
  ),
);
for (const error of failed) console.error((error as Error).message);
if (failed.length > 0 || lives.length === 0) process.exitCode = 1;

/** `npm run price`: the cost of a million tasks or chats at Cloudflare's list prices of 2026-11-20, by operation. Storage is not included: R2 keeps a gigabyte for $0.015 a month. */

import { operations, type Operations, rows } from "./support/operations.ts";

/** Dollars for a million. */
const price = { row: 1, objectRequest: 0.15, workerRequest: 0.3, queueOperation: 0.4, classA: 4.5, classB: 0.36, logEvent: 0.6 };
/** Each message is written, read and deleted. */
const operationsPerMessage = 3;

/** Dollars for a million, by purpose. Workers Logs counts an event for each line; the line for each invocation is switched off (`wrangler.toml`). */
function costs(counts: Operations): Record<string, number> {
  const { requests, objectCalls, alarms, messages, classA, classB, logLines } = counts;
  return {
    rows: rows(counts) * price.row,
    requests: (requests + messages) * price.workerRequest + (objectCalls + alarms) * price.objectRequest,
    queues: messages * operationsPerMessage * price.queueOperation,
    files: classA * price.classA + classB * price.classB,
    "log lines": logLines * price.logEvent,
  };
}

const table = Object.entries(operations).map(([kind, counts]) => {
  const dollars = costs(counts);
  const total = Object.values(dollars).reduce((sum, one) => sum + one, 0);
  return [
    kind,
    {
      "rows written": rows(counts),
      ...counts,
      ...Object.fromEntries(Object.entries(dollars).map(([name, value]) => [`$ ${name}`, value])),
      "$ per million": total,
    },
  ] as const;
});
for (const [kind, columns] of table) {
  console.log(kind);
  for (const [name, value] of Object.entries(columns)) console.log(`  ${name.padEnd(20)} ${value.toFixed(2).padStart(7)}`);
}

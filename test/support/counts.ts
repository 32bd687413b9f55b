/** The counts of platform operations that tests expect of each kind of task and chat, and the goals that none may exceed. */

import { expect, type TestContext } from "vitest";
import { dollars, type Operations, rows } from "../../scripts/support/operations.ts";

/** The number of an account's tasks that end in the same five seconds and share the writes to D1. */
export const together = 16;

/** The bytes of log lines are not compared: they vary with the digits of ids and durations. */
type Counts = Omit<Operations, "logBytes">;

interface Expected {
  counts: Counts;
  /** Maximums: rows, and dollars for a million. */
  goal?: { rows: number; dollars?: number };
  /** How far a count may be off: shared operations differ, because the order in which tasks end varies. 0.2 by default. */
  tolerance?: number;
}

const polledVideo: Counts = {
  requests: 1,
  d1Rows: 4.94,
  d1Calls: 1.69,
  objectRows: 7.56,
  alarmRows: 8.19,
  objectCalls: 7.06,
  alarms: 6.13,
  messages: 2,
  classA: 1,
  classB: 0,
  logLines: 1.01,
};
const calledBackVideo: Counts = {
  requests: 2,
  d1Rows: 4.94,
  d1Calls: 2.63,
  objectRows: 6.56,
  alarmRows: 4.19,
  objectCalls: 7.06,
  alarms: 2.13,
  messages: 1,
  classA: 1,
  classB: 0,
  logLines: 1.01,
};
const image: Counts = {
  requests: 1,
  d1Rows: 4.44,
  d1Calls: 1.31,
  objectRows: 5.25,
  alarmRows: 3.13,
  objectCalls: 5.06,
  alarms: 2.13,
  messages: 1,
  classA: 1,
  classB: 0,
  logLines: 1.01,
};
const polledImage: Counts = {
  requests: 1,
  d1Rows: 4.69,
  d1Calls: 1.5,
  objectRows: 7.56,
  alarmRows: 6.19,
  objectCalls: 7.06,
  alarms: 4.13,
  messages: 2,
  classA: 1,
  classB: 0,
  logLines: 1.01,
};
const chat: Counts = {
  requests: 1,
  d1Rows: 2.31,
  d1Calls: 0.13,
  objectRows: 1.25,
  alarmRows: 0.13,
  objectCalls: 1.06,
  alarms: 0.13,
  messages: 0,
  classA: 0,
  classB: 0,
  logLines: 1,
};
const loneVideo: Counts = { ...polledVideo, d1Rows: 13, d1Calls: 8, objectRows: 9, alarmRows: 10, objectCalls: 8, alarms: 7 };
const loneChat: Counts = { ...chat, d1Rows: 8, d1Calls: 4, objectRows: 5, alarmRows: 2, objectCalls: 3, alarms: 1 };
/** On a busy machine some of a moment's queries look a key up twice. */
const askedTolerance = 0.5;
/** Seven queries. Each is later than the key's eight seconds in the cache, so one of sixteen at once reads the key in D1 and the revision in the wallet. */
const asked = { requests: 8, objectCalls: 14.5, logLines: 1.08 };
const askedAlone = { ...asked, objectCalls: 22 };

/**
 * A video takes 60 seconds, the others before it 57 to 63, and is polled accordingly or calls back. An image is answered by its start, or takes four
 * seconds. A lone account has one task or chat at a time, the one before it days ago, so that nothing is shared.
 */
export const expected = {
  video: { counts: polledVideo, goal: { rows: 23.5, dollars: 36 } },
  "video, status every 10 s": { counts: { ...polledVideo, ...asked, d1Calls: 2.13 }, tolerance: askedTolerance },
  "video, status every 10 s, request log": {
    counts: { ...polledVideo, ...asked, d1Rows: 5.69, d1Calls: 2.63 },
    tolerance: askedTolerance,
  },
  "video, lone account": { counts: loneVideo },
  "video, lone account, status every 10 s, request log": {
    counts: { ...loneVideo, ...askedAlone, d1Rows: 23, d1Calls: 23 },
    tolerance: askedTolerance,
  },
  "video, called back": { counts: calledBackVideo, goal: { rows: 16.5 } },
  // Four collect in the requests of their calls, the others by a message.
  "video, called back, 16 in one instant": { counts: { ...calledBackVideo, objectCalls: 7.81, messages: 1.75 } },
  image: { counts: image, goal: { rows: 14, dollars: 21 } },
  "image, three flushes": { counts: { ...image, d1Rows: 5.06, d1Calls: 1.5, objectRows: 5.38, alarmRows: 3.38, objectCalls: 5.13 } },
  "image, request log": { counts: { ...image, d1Rows: 4.63 } },
  "image, lone account": { counts: { ...image, d1Rows: 10, d1Calls: 4, objectRows: 7, alarmRows: 5, objectCalls: 6, alarms: 3 } },
  "image, polled": { counts: polledImage },
  chat: { counts: chat, goal: { rows: 5, dollars: 6 } },
  "chat, request log": { counts: { ...chat, d1Rows: 2.5 } },
  "chat, lone account": { counts: loneChat },
  "chat, lone account, request log": { counts: { ...loneChat, d1Rows: 11, d1Calls: 5 } },
} satisfies Record<string, Expected>;

/** Reports the counts to `npm run tools -- price`, and compares them with those that are expected of this kind. */
export function expectCounts({ task }: TestContext, kind: keyof typeof expected, operations: Operations): void {
  task.meta.counted = { kind, operations };
  const { counts, goal, tolerance = 0.2 }: Expected = expected[kind];
  for (const [name, value] of Object.entries(counts))
    expect(Math.abs(operations[name as keyof Counts] - value), `${name}: ${JSON.stringify(operations)}`).toBeLessThanOrEqual(tolerance);
  if (!goal) return;
  expect(rows(operations), `rows: ${JSON.stringify(operations)}`).toBeLessThanOrEqual(goal.rows);
  expect(dollars(operations), `dollars: ${JSON.stringify(operations)}`).toBeLessThanOrEqual(goal.dollars ?? Infinity);
}

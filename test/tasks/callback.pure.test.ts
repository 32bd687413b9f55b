/** The transitions of a callback: which step is due when, the effect of each report, and that the task's own schedule is independent. */

import { expect, test } from "vitest";
import * as callbacks from "../../src/tasks/transitions/receiver-calls.ts";
import type { FinalTask, CallbackReport } from "../../src/tasks/record.ts";
import * as afterEnd from "../../src/tasks/transitions/after-end.ts";
import * as outcomes from "../../src/tasks/transitions/outcomes.ts";
import * as transitions from "../../src/tasks/transitions/task.ts";
import { submission } from "./submission.ts";

const start = 1_800_000_000_000;
const day = 86_400_000;
const queued = transitions.reserved(transitions.newTask("task_1", submission, start));
const starting = transitions.claimed(queued, "lease-1", 60_000, true, start)!;
const settled = afterEnd.settled(outcomes.failed(starting, "provider_error", start), day, 7 * day);
const begun = callbacks.callbackBegun(settled, start);
const calling = callbacks.callbackClaimed(begun, "call-1", start)!;
const report = (fields: object) => ({ outcome: "attempted", at: start, ms: 5, ...fields }) as CallbackReport;
const reported = (task: FinalTask, fields: object, now = start) => callbacks.callbackReported(task, "call-1", report(fields), now)!;
const waiting = reported(calling, { status: 500 });
const delivered = reported(calling, { status: 200 });

test.each<[string, FinalTask, number, ReturnType<typeof transitions.due>]>([
  // what                          record     at (ms after start)  then
  ["no callback", settled, day, "erase"],
  ["its message is under way", begun, 2_000, "call_back"],
  ["being called", calling, 20_000, "call_lapsed"],
  ["waiting for the next attempt", waiting, 5_000, "notify"],
  ["sent again", callbacks.callbackSent(waiting, start + 5_000), 7_000, "call_back"],
  ["postponed", callbacks.callbackReported(calling, "call-1", { outcome: "postponed" }, start)!, 30_000, "notify"],
  ["delivered", delivered, day, "erase"],
  ["without an endpoint", callbacks.callbackReported(calling, "call-1", { outcome: "no_endpoint" }, start)!, day, "erase"],
  ["asked for again", callbacks.callbackBegun(delivered, start + 50_000), 52_000, "call_back"],
])("%s: its alarm and what is due then", (_, task, at, then) => {
  expect(transitions.wakeAt(task)).toBe(start + at);
  expect(transitions.due(task, start + at - 1)).toBeUndefined();
  expect(transitions.due(task, start + at)).toBe(then);
  expect(task.step).toEqual(settled.step);
});

test("the earlier of callback and deletion is due first", () => {
  const late: FinalTask = { ...waiting, callback: { ...waiting.callback!, step: { do: "wait", at: start + day + 1 } } };
  expect(transitions.due(late, start + 2 * day)).toBe("erase");
  expect(transitions.due(afterEnd.erased(late, 7 * day), start + 2 * day)).toBe("notify");
  expect(transitions.due(afterEnd.erased(late, 7 * day), start + 7 * day)).toBe("notify");
  const later: FinalTask = { ...late, callback: { ...late.callback!, step: { do: "wait", at: start + 8 * day } } };
  expect(transitions.due(afterEnd.erased(later, 7 * day), start + 9 * day)).toBe("forget");
});

test.each<[string, FinalTask, boolean]>([
  ["no callback", settled, false],
  ["message under way", begun, true],
  ["being called", calling, false],
  ["waiting", waiting, false],
  ["sent again", callbacks.callbackSent(waiting, start), true],
  ["delivered", delivered, false],
])("%s: whether a message may claim the call", (_, task, may) => {
  expect(callbacks.callbackClaimed(task, "call-9", start) !== undefined).toBe(may);
});

test.each<[fields: object, state: string, waits: boolean]>([
  [{ status: 200 }, "delivered", false],
  [{ status: 299 }, "delivered", false],
  [{ status: 199 }, "pending", true],
  [{ status: 302 }, "pending", true],
  [{ status: 404 }, "pending", true],
  [{ status: 410 }, "gone", false],
  [{ status: 500 }, "pending", true],
  [{ fault: "timeout" }, "pending", true],
  [{ fault: "unreachable" }, "pending", true],
  [{ fault: "blocked_url" }, "failed", false],
])("a call that ended with %j", (fields, state, waits) => {
  const { callback } = reported(calling, fields);
  expect([callback!.state, callback!.step?.do]).toEqual([state, waits ? "wait" : undefined]);
  expect(callback!.attempts).toEqual([{ at: start, ms: 5, ...fields }]);
});

test("attempts follow each other after 5 s, 30 s, 2 min, 10 min, 1 h and 6 h, and the seventh failure is the last", () => {
  let task = calling;
  const waits: (number | undefined)[] = [];
  for (let attempt = 0; attempt < 7; attempt++) {
    task = reported(task, { status: 500 });
    waits.push(task.callback!.step && (task.callback!.step.at - start) / 1000);
    task = callbacks.callbackClaimed(callbacks.callbackSent(task, start), "call-1", start)!;
  }
  expect(waits).toEqual([5, 30, 120, 600, 3_600, 21_600, undefined]);
});

test("a report with another lease, or after the lease expired, is ignored", () => {
  expect(callbacks.callbackReported(calling, "call-2", report({ status: 200 }), start)).toBeUndefined();
  expect(
    callbacks.callbackReported(callbacks.callLapsed(calling, start + 20_000), "call-1", report({ status: 200 }), start),
  ).toBeUndefined();
  expect(callbacks.callbackReported(settled, "call-1", report({ status: 200 }), start)).toBeUndefined();
});

test("another round starts with all its attempts, unless a call is running", () => {
  let task = calling;
  for (let attempt = 0; attempt < 3; attempt++)
    task = callbacks.callbackClaimed(callbacks.callbackSent(reported(task, { status: 500 }), start), "call-1", start)!;
  expect(callbacks.callbackBegun(task, start + 1)).toBe(task);
  const again = callbacks.callbackBegun(reported(task, { status: 410 }), start);
  expect(again.callback).toMatchObject({ state: "pending", failures: 0, attempts: { length: 4 } });
});

test("the record has the latest twenty attempts", () => {
  let task = calling;
  for (let attempt = 0; attempt < 30; attempt++)
    task = callbacks.callbackClaimed(callbacks.callbackBegun(reported(task, { status: 200, ms: attempt }), start), "call-1", start)!;
  expect(task.callback!.attempts.map(({ ms }) => ms)).toEqual(Array.from({ length: 20 }, (_, at) => at + 10));
});

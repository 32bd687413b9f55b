/** The transitions of a task's record: which step is due when, which message may claim it, and that final states do not change. */

import { expect, test } from "vitest";
import * as afterEnd from "../../src/tasks/transitions/after-end.ts";
import * as outcomes from "../../src/tasks/transitions/outcomes.ts";
import * as transitions from "../../src/tasks/transitions/task.ts";
import type { FailedTask, OpenTask, Submission, Task } from "../../src/tasks/record.ts";
import { due, newTask } from "../../src/tasks/transitions/task.ts";
import { submission as ofOneRoute } from "./submission.ts";

const start = 1_800_000_000_000;
const submission: Submission = {
  ...ofOneRoute,
  routes: [
    { provider: "first", model: "a" },
    { provider: "second", model: "b" },
  ],
};
const asset = { key: "assets/x/0.png", type: "image/png", bytes: 1, digest: "d" };
const images = (count: number) => ({ kind: "images" as const, images: Array.from({ length: count }, () => asset) });

const reserving = newTask("task_1", submission, start);
const queued = transitions.reserved(reserving);
const starting = transitions.claimed(queued, "lease-1", 60_000, true, start)!;
const unrepeatable = transitions.claimed(queued, "lease-1", 60_000, false, start)!;
const polling = outcomes.accepted(starting, { operation: "op", pollAfterMs: 2_000 }, true, start + 100);
const collect = outcomes.ready(polling, start + 2_000);
const collecting = transitions.claimed(collect, "lease-2", 40_000, true, start + 2_000)!;
const completed = outcomes.completed(collecting, images(2), 86_400_000, start + 3_999);
const lapsed = outcomes.leaseExpired(starting, start + 60_000) as OpenTask;
const failed = outcomes.failed(polling, "provider_error", start + 3_000);
const erasable = afterEnd.settled(completed, 86_400_000, 604_800_000);
const deleted = afterEnd.deleted(erasable, start + 5_000);
const tombstone = afterEnd.erased(deleted, 604_800_000);
const forgettable = afterEnd.erased(erasable, 604_800_000);

test.each<[string, Task, number, ReturnType<typeof due>, ReturnType<typeof due>]>([
  // what               record        at (ms after start)        just before    then
  ["reserving", reserving, 10_000, undefined, "abandon"],
  ["queued", queued, 10_000, undefined, "run_start"],
  ["queued, its message not taken", transitions.notSent(queued, start), 2_000, undefined, "run_start"],
  ["to be started again", lapsed, 60_000, undefined, "dispatch"],
  ["to be started again, sent", transitions.dispatched(lapsed, start + 60_000), 70_000, undefined, "run_start"],
  [
    "queued, deadline",
    transitions.dispatched(transitions.dispatched(transitions.dispatched(queued, start + 30_000), start + 60_000), start + 119_000),
    120_000,
    undefined,
    "deadline",
  ],
  ["starting", starting, 60_000, undefined, "lapse"],
  ["polling", polling, 2_100, undefined, "poll"],
  ["waiting to be collected", collect, 52_000, undefined, "dispatch"],
  ["waiting to be collected, its message not taken", transitions.notSent(collect, start + 2_000), 4_000, undefined, "dispatch"],
  ["waiting to be collected, sent again", transitions.dispatched(collect, start + 32_000), 92_000, undefined, "dispatch"],
  ["collecting", collecting, 42_000, undefined, "lapse"],
  ["completed, not settled", completed, 33_999, undefined, "settle"],
  ["failed, not settled", failed, 33_000, undefined, "settle"],
  ["completed", erasable, 3_000 + 86_400_000, undefined, "erase"],
  ["erased", forgettable, 3_000 + 604_800_000, undefined, "forget"],
  ["deleted", deleted, 5_000, undefined, "erase"],
  [
    "deleted after a week and erased",
    afterEnd.erased(afterEnd.deleted(erasable, start + 6e8), 604_800_000),
    6e8 + 60_000,
    undefined,
    "forget",
  ],
  ["deleted and erased", tombstone, 86_460_000, undefined, "forget"],
])("%s: its alarm and what is due then", (_, task, at, before, then) => {
  expect(transitions.wakeAt(task)).toBe(start + at);
  expect(due(task, start + at - 1)).toBe(before);
  expect(due(task, start + at)).toBe(then);
});

test.each<[string, Task, boolean]>([
  ["reserving", reserving, false],
  ["queued", queued, true],
  ["starting", starting, false],
  ["polling", polling, false],
  ["waiting to be collected", collect, true],
  ["collecting", collecting, false],
  ["completed", completed, false],
  ["failed", failed, false],
  ["erased", forgettable, false],
])("%s: whether a message may claim it", (_, task, may) => {
  expect(transitions.claimed(task, "lease-9", 1_000, true, start + 5_000) !== undefined).toBe(may);
});

test("after a lease has expired the work is leased again if it may be repeated, otherwise the task fails", () => {
  const later = start + 60_000;
  expect(transitions.claimed(starting, "lease-9", 1_000, true, later)?.step).toMatchObject({ do: "starting", lease: "lease-9" });
  expect(transitions.claimed(unrepeatable, "lease-9", 1_000, true, later)).toBeUndefined();
  expect(outcomes.leaseExpired(starting, later)).toMatchObject({ status: "in_progress", step: { do: "start" } });
  expect(outcomes.leaseExpired(collecting, later)).toMatchObject({ step: { do: "collect" } });
  expect(outcomes.leaseExpired(unrepeatable, later)).toMatchObject({ status: "failed", error: "provider_error", charged: 0 });
});

test("from the deadline on nothing is leased", () => {
  expect(transitions.claimed(queued, "lease-9", 1_000, true, start + 119_999)?.step.do).toBe("starting");
  expect(transitions.claimed(queued, "lease-9", 1_000, true, start + 120_000)).toBeUndefined();
});

test("a record says whether a consumer may have left files that it does not name", () => {
  const later = start + 60_000;
  const fault = { reason: "503", retryable: true, isUntouched: true };
  const untidy = [
    transitions.claimed(starting, "lease-9", 1_000, true, later),
    transitions.claimed(collecting, "lease-9", 1_000, true, later),
    outcomes.leaseExpired(starting, later),
    outcomes.leaseExpired(collecting, later),
    outcomes.startFailed(starting, fault, later),
    outcomes.startFailed(starting, { ...fault, retryable: false }, later),
    outcomes.collectFailed(collecting, fault, later),
    outcomes.accepted(starting, { operation: "op", pollAfterMs: 1_000, isMade: true }, true, later),
  ];
  expect(untidy.map((task) => task!.isTidy)).toEqual(untidy.map(() => false));
  expect([starting, polling, collecting, completed].map(({ isTidy }) => isTidy)).toEqual([true, true, true, true]);
});

test("work that its maker may have made is booked at its cost, also if the task fails", () => {
  const priced = (task: OpenTask): OpenTask => ({
    ...task,
    submission: { ...submission, routes: submission.routes.map((route) => ({ ...route, cost: { image: 0.02 } })) },
  });
  const costs = (task: Task) => Object.values(task.costs ?? {});
  const expired = [starting, lapsed, queued, polling].map((task) => costs(outcomes.expired(priced(task), start + 120_000)));
  expect(expired).toEqual([[40_000], [40_000], [], []]);
  const fault = { reason: "404", retryable: false };
  const ends = [
    outcomes.collectFailed(priced(collecting), fault, start + 5_000),
    outcomes.leaseExpired(priced(unrepeatable), start + 60_000),
  ];
  expect(ends.map(({ status }) => status)).toEqual(["failed", "failed"]);
  expect(ends.map(costs)).toEqual([[40_000], [40_000]]);
});

test("a lease is valid for its holder, until the task is final", () => {
  expect(transitions.leased(starting, "lease-1")).toBe(starting);
  expect(transitions.leased(starting, "lease-2")).toBeUndefined();
  expect(transitions.leased(outcomes.failed(starting, "cancelled", start), "lease-1")).toBeUndefined();
});

test("a start that keeps failing moves to the next route, then fails; every attempt is recorded", () => {
  const fault = { reason: "503", retryable: true, isUntouched: true };
  let task: OpenTask = starting;
  const seen: number[] = [];
  for (let fault_ = 0; fault_ < 12; fault_++) {
    const next = outcomes.startFailed(task, fault, start);
    seen.push(next.route);
    if (next.status === "failed") {
      expect(next.attempts).toEqual([
        { provider: "first", outcome: "503", from: start, to: start },
        { provider: "second", outcome: "503", from: start, to: start },
      ]);
      break;
    }
    task = transitions.claimed(next, "lease", 1_000, true, start)!;
  }
  expect(seen).toEqual([0, 1, 1, 1, 1, 1, 1, 1]);
});

test("work that may have been accepted is retried on the same route, never on another", () => {
  const fault = { reason: "no answer", retryable: true, isUntouched: false };
  const again = outcomes.startFailed(starting, fault, start + 1_000);
  expect(again).toMatchObject({ route: 0, isUnknown: true, askedAt: start, step: { do: "start" } });
  const later = transitions.claimed(again, "lease-2", 1_000, true, start + 5_000)!;
  expect(later).toMatchObject({ isUnknown: true, askedAt: start });
  // A refusal of the second start does not show whether the first one was accepted.
  const refused = { reason: "401", retryable: false, isUntouched: true };
  expect(outcomes.startFailed(later, refused, start + 6_000)).toMatchObject({ route: 0, status: "failed", error: "provider_error" });
  expect(outcomes.leaseExpired(starting, start + 60_000)).toMatchObject({ isUnknown: true, askedAt: start });
  expect(transitions.claimed(starting, "lease-9", 1_000, true, start + 60_000)).toMatchObject({ isUnknown: true, askedAt: start });
});

test("after a refusal that certainly accepted nothing, no look-up is made", () => {
  const fault = { reason: "429", retryable: true, isUntouched: true };
  const again = transitions.claimed(outcomes.startFailed(starting, fault, start + 1_000), "lease-2", 1_000, true, start + 5_000)!;
  expect(again.isUnknown).toBeUndefined();
  expect(again.askedAt).toBe(start + 5_000);
});

test("a permanent fault moves to the next route at once", () => {
  expect(outcomes.startFailed(starting, { reason: "401", retryable: false, isUntouched: true }, start)).toMatchObject({
    route: 1,
    step: { do: "start", at: start },
  });
});

test("a provider that asks for a long wait is replaced at once if there is another route", () => {
  const fault = { reason: "429", retryable: true, isUntouched: true, retryAfterMs: 30_000 };
  expect(outcomes.startFailed(starting, fault, start)).toMatchObject({ route: 1, step: { do: "start", at: start } });
  expect(outcomes.startFailed({ ...starting, route: 1 }, fault, start)).toMatchObject({ route: 1, step: { at: start + 30_000 } });
});

test("the line of a batch waits for busy makers for half of its time; then its batch makes it again, if nothing is made or billed", () => {
  const line = {
    ...submission,
    batch: { batch: "b", line: 0 },
    deadlineSeconds: 600,
    routes: [{ provider: "only", model: "a", cost: { image: 1 } }],
  };
  const busy = { reason: "429", retryable: true, isUntouched: true };
  const waitFor = (
    given: Submission,
    fault: Parameters<typeof outcomes.startFailed>[1],
    costs?: OpenTask["costs"],
  ): [FailedTask, number] => {
    let task: Task = { ...transitions.reserved(newTask("task_1", given, start)), ...(costs && { costs }) };
    for (let now = start; ; now = task.step.at) {
      const next = outcomes.startFailed(transitions.claimed(task, "lease", 1_000, true, now)!, fault, now);
      if (next.status === "failed") return [next, now - start];
      task = next;
    }
  };
  const [ended, after] = waitFor(line, busy);
  expect(ended).toMatchObject({ status: "failed", error: "provider_error", isBusy: true, charged: 0 });
  expect(after).toBe(243_000);
  expect(waitFor(line, { ...busy, retryAfterMs: 60_000 })).toMatchObject([{ isBusy: true }, 300_000]);
  // Its batch may not make it again: the maker of an earlier route bills its failure, or the work may have been accepted.
  expect(waitFor(line, busy, { "0 earlier a": 30_000 })[0].isBusy).toBeUndefined();
  for (const [given, fault] of [
    [line, { reason: "no answer", retryable: true }],
    [line, { reason: "its host", retryable: true, isUntouched: true, code: "invalid_input" as const }],
    [{ ...line, batch: undefined } as unknown as Submission, busy],
  ] as const) {
    const [other, failedAfter] = waitFor(given, fault);
    expect([other.isBusy, failedAfter < 60_000]).toEqual([undefined, true]);
  }
});

test("after a provider's own failure the next route is used, after a refusal of the content it is not", () => {
  const working = outcomes.accepted(starting, { operation: "operation", pollAfterMs: 1_000 }, true, start);
  const next = outcomes.providerFailed(working, "provider_error", "failed", start);
  expect(next).toMatchObject({ status: "in_progress", route: 1, faults: 0, step: { do: "start", at: start } });
  expect(next.attempts).toEqual([{ provider: "first", outcome: "provider_error", from: start, to: start }]);
  expect(next.operation).toBeUndefined();
  expect(outcomes.providerFailed({ ...(next as OpenTask), step: working.step }, "provider_error", "failed", start)).toMatchObject({
    status: "failed",
    charged: 0,
  });
  expect(outcomes.providerFailed(working, "content_policy_violation", "failed", start)).toMatchObject({ status: "failed", route: 0 });
});

test("a collection is retried until the deadline", () => {
  let task: OpenTask = collecting;
  for (let fault = 0; fault < 50; fault++) {
    const next = outcomes.collectFailed(task, { reason: "broken off", retryable: true }, start);
    expect(next.step.do).toBe("collect");
    expect(next.step.at - start).toBeLessThanOrEqual(15_000);
    task = transitions.claimed(next, "lease", 1_000, true, start)!;
  }
});

test("the charge: the whole reservation, less for fewer images, never more, nothing if failed", () => {
  const charged = (count: number) => outcomes.completed(collecting, images(count), 1, start).charged;
  expect([charged(1), charged(2), charged(3)]).toEqual([30_000, 60_000, 60_000]);
  expect(failed.charged).toBe(0);
});

test("a completed task expires at a whole second after its completion", () => {
  expect(completed).toMatchObject({ finalAt: start + 3_000, expiresAt: start + 3_000 + 86_400_000, progress: 100 });
});

test("progress without reports grows with time to 95, and never decreases when reports begin", () => {
  const running: Task = { ...starting, reportsProgress: false };
  const seen = [0, 1_000, 5_000, 10_000, 60_000].map((ms) => transitions.progressAt(running, start + ms));
  expect(seen).toEqual([0, 9, 47, 95, 95]);
  const reporting = outcomes.accepted(running, { operation: "op", pollAfterMs: 1 }, true, start + 5_000);
  expect(transitions.progressAt(outcomes.progressed(reporting, 10, 1, start + 6_000), start + 6_000)).toBe(47);
  expect(transitions.progressAt(outcomes.progressed(reporting, 100, 1, start + 6_000), start + 6_000)).toBe(99);
  expect(outcomes.failed(running, "provider_error", start + 5_000).progress).toBe(47);
});

test("the expected seconds are at least one and at least a tenth of the elapsed ones, and undefined when final", () => {
  const rows: [passed: number, left: number, queued: number][] = [
    [0, 10, 10],
    [9_500, 1, 10],
    [10_000, 1, 10],
    [10_001, 2, 10],
    [60_000, 6, 10],
    [599_000, 60, 60],
  ];
  // Of a task that waits all the work is ahead, however long it waits.
  const atOnce = { ...queued, status: "in_progress" as const, startedAt: start };
  for (const [passed, left, whole] of rows) {
    expect(transitions.remainingSeconds(atOnce, start + passed), `${passed}`).toBe(left);
    expect(transitions.remainingSeconds(queued, start + passed), `${passed}`).toBe(whole);
  }
  expect(transitions.remainingSeconds(completed, start)).toBeUndefined();
});

test.each<[string, OpenTask]>([
  ["queued", queued],
  ["being started", starting],
  ["accepted", polling],
  ["made, not fetched yet", collect],
  ["made, being fetched", collecting],
])("cancelled when %s, for its price or without a charge", (_, task) => {
  for (const [isCharged, charged] of [
    [true, 60_000],
    [false, 0],
  ] as const)
    expect(outcomes.cancelled(task, isCharged, start + 5_000)).toMatchObject({
      status: "failed",
      error: "cancelled",
      charged,
      step: { do: "settle" },
    });
});

test("a final record without its content still has the keys of the files to delete: inline images, and an uploaded video", () => {
  const asset = { key: "inputs/task_1/video", type: "video/mp4", bytes: 4, digest: "abcd" };
  const task = {
    ...reserving,
    submission: {
      ...submission,
      store: false as const,
      source: { asset },
      inputs: [
        { role: "reference" as const, key: "inputs/task_1/small-0" },
        { role: "reference" as const, url: "https://a.example" },
      ],
    },
  };
  for (const ended of [outcomes.failed(task, "provider_error", start), outcomes.completed(task, { kind: "images", images: [] }, 1, start)])
    expect(ended.submission).toMatchObject({ source: { asset }, inputs: [{ key: "inputs/task_1/small-0" }] });
});

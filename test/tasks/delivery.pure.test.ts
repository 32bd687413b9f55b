/** The transitions of a delivery: which step is due when, the effect of each report, and that it ends before the files are deleted. */

import { expect, test } from "vitest";
import type { CompletedTask, DeliveryReport, FinalTask, Result, Submission } from "../../src/tasks/record.ts";
import * as afterEnd from "../../src/tasks/transitions/after-end.ts";
import * as deliveries from "../../src/tasks/transitions/delivery.ts";
import * as outcomes from "../../src/tasks/transitions/outcomes.ts";
import * as calls from "../../src/tasks/transitions/receiver-calls.ts";
import { reloaded, reloadedAt } from "../../src/tasks/transitions/reloaded.ts";
import * as transitions from "../../src/tasks/transitions/task.ts";
import { submission as ofTwoImages } from "./submission.ts";

const start = 1_800_000_000_000;
const day = 86_400_000;
const submission: Submission = { ...ofTwoImages, deliverTo: { destination: "shop" } };
const asset = (bytes: number) => ({ key: "assets/x/lease-0.png", type: "image/png", bytes, digest: "d" });
const images = (...bytes: number[]): Result => ({ kind: "images", images: bytes.map(asset) });

function completed(result: Result, deliverTo: Submission["deliverTo"] = submission.deliverTo, assetMs = day): CompletedTask {
  const queued = transitions.reserved(transitions.newTask("task_1", { ...submission, ...(deliverTo && { deliverTo }) }, start));
  const starting = transitions.claimed(queued, "lease-1", 60_000, true, start)!;
  return outcomes.completed(starting, result, assetMs, start);
}

const settled = (task: CompletedTask) => afterEnd.settled(task, day, 7 * day) as CompletedTask;
const begun = deliveries.deliveryBegun(settled(completed(images(1_000, 1_000))), start);
const leased = deliveries.deliveryLeased(begun, "lease", start)!;
const file = (name: string) => ({ name, url: `https://s3.example/${name}`, sha256: "0" });
const both = [file("1.png"), file("2.png")];
const report = (fields: object, files = [] as typeof both) =>
  ({ outcome: "attempted", at: start, ms: 5, files, ...fields }) as unknown as DeliveryReport;
const reported = (task: FinalTask, fields: object, files = [] as typeof both, now = start) =>
  deliveries.deliveryReported(task, "lease", report(fields, files), now)!;
const waiting = reported(leased, { status: 500 });
const delivered = reported(leased, { status: 200 }, both);
const failed = reported(leased, { fault: "no_destination" });

test.each<[string, FinalTask, number, ReturnType<typeof transitions.due>]>([
  // what                    record     at (ms after start)  then
  ["settled", begun, 0, "deliver"],
  ["being delivered", leased, 70_008, "delivery_lapsed"],
  ["waiting for the next attempt", waiting, 5_000, "deliver"],
  ["postponed", reported(leased, { outcome: "postponed" }), 30_000, "deliver"],
  ["delivered", delivered, 0, "announce_delivery"],
  ["failed", failed, 0, "announce_delivery"],
  ["announced later", deliveries.announceFailed(delivered, start), 2_000, "announce_delivery"],
  ["announced", deliveries.announced(delivered), day, "erase"],
])("%s: its alarm and what is due then", (_, task, at, then) => {
  expect(transitions.wakeAt(task)).toBe(start + at);
  expect(transitions.due(task, start + at - 1)).toBeUndefined();
  expect(transitions.due(task, start + at)).toBe(then);
  expect(task.step).toEqual(begun.step);
});

test("only completed tasks with deliver_to are delivered, once", () => {
  const { deliverTo: _, ...without } = submission;
  const other = { ...completed(images(1)), submission: without };
  expect(deliveries.deliveryBegun(other, start)).toBe(other);
  const queued = transitions.reserved(transitions.newTask("task_1", submission, start));
  const unsuccessful = outcomes.failed(queued, "provider_error", start);
  expect(deliveries.deliveryBegun(unsuccessful, start)).toBe(unsuccessful);
  expect(deliveries.deliveryBegun(begun, start + 1)).toBe(begun);
  expect(deliveries.deliveryLeased(leased, "other", start)).toBeUndefined();
  expect(deliveries.deliveryLeased(waiting, "other", start + 4_999)).toBeUndefined();
});

test.each<[fields: object, files: typeof both, state: string, step: string | undefined]>([
  [{ status: 200 }, both, "delivered", "announce"],
  [{ status: 200 }, [file("1.png")], "pending", "wait"],
  [{ status: 403, code: "AccessDenied" }, [], "pending", "wait"],
  [{ status: 403, isLast: true }, [], "failed", "announce"],
  [{ status: 507 }, [file("1.png")], "pending", "wait"],
  [{ status: 200, fault: "changed" }, [], "pending", "wait"],
  [{ fault: "timeout" }, [], "pending", "wait"],
  [{ fault: "blocked_url" }, [], "failed", "announce"],
  [{ fault: "no_destination" }, [file("1.png")], "failed", "announce"],
])("an attempt that ended with %j and the files %j", (fields, files, state, step) => {
  const { delivery } = reported(leased, fields, files);
  expect([delivery!.state, delivery!.step?.do]).toEqual([state, step]);
  expect(delivery!.files).toEqual(files);
  const { isLast: _, ...attempt } = fields as { isLast?: boolean };
  expect(delivery!.attempts).toEqual([{ at: start, ms: 5, ...attempt }]);
});

test("never delivered while a file is missing, whatever the attempts report", () => {
  let task: FinalTask = leased;
  for (const files of [[file("2.png")], [file("2.png")], []]) {
    task = reported(task, { status: 200 }, files);
    expect(task.delivery).toMatchObject({ state: "pending", files: [{ name: "2.png" }] });
    task = deliveries.deliveryLeased(task, "lease", task.delivery!.step!.at)!;
  }
  expect(reported(task, { status: 200 }, [file("1.png")]).delivery!.state).toBe("delivered");
});

test.each<[string, CompletedTask, files: typeof both]>([
  [
    "failed with one file",
    deliveries.announced(reported(leased, { fault: "no_destination" }, [file("1.png")])) as CompletedTask,
    [both[0]!],
  ],
  ["delivered", deliveries.announced(delivered) as CompletedTask, []],
  ["waiting for the next attempt", waiting as CompletedTask, []],
])("delivered again when it is %s", (_, task, files) => {
  const now = start + 1_000;
  const again = deliveries.deliveryRepeated(task, now)!;
  expect(again.delivery).toMatchObject({ state: "pending", failures: 0, files, attempts: task.delivery!.attempts });
  expect(transitions.due(again, now)).toBe("deliver");
  expect(deliveries.deliveryRepeated(task, task.expiresAt - 10_000)).toBeUndefined();
});

test("a delivery that runs, or whose end is announced, is not begun again", () => {
  for (const task of [leased, delivered, failed] as CompletedTask[]) expect(deliveries.deliveryRepeated(task, start)).toBe(task);
});

test("a presigned URL gets one file", () => {
  const task = deliveries.deliveryBegun(settled(completed(images(1_000), { url: "sealed:" })), start);
  expect(deliveries.filesLeft(task).map(({ name }) => name)).toEqual(["1.png"]);
  const video: Result = { kind: "video", video: { ...asset(1), key: "a/b-0.mp4" }, thumbnail: asset(1), width: 1, height: 1, seconds: 1 };
  expect(
    deliveries.filesLeft(deliveries.deliveryBegun(settled(completed(video, { url: "sealed:" })), start)).map(({ name }) => name),
  ).toEqual(["video.mp4"]);
});

test.each([
  [1_000, 0, 30_004],
  [50_000_000, 0, 230_000],
  [512 * 1024 * 1024, 0, 600_000],
  [1_000, day - 20_000, 10_000],
  [1_000, day - 10_000, 0],
])("a file of %i bytes, %i ms after its end, has %i ms", (bytes, afterMs, ms) => {
  const task = deliveries.deliveryBegun(settled(completed(images(bytes))), start);
  expect(deliveries.attemptMs(task, start + afterMs)).toBe(ms);
  const given = deliveries.deliveryLeased(task, "lease", start + afterMs);
  if (ms === 0) expect(given).toBeUndefined();
  else expect(given!.delivery!.step!.at).toBeLessThanOrEqual(task.expiresAt);
});

test.each([day, 60_000])("files that live for %i ms: the last attempt ends, or is given up, before they are deleted", (assetMs) => {
  let task: FinalTask = deliveries.deliveryBegun(settled(completed(images(1_000), submission.deliverTo, assetMs)), start);
  const { expiresAt } = task;
  const starts: number[] = [];
  while (task.delivery!.state === "pending") {
    const { at } = task.delivery!.step!;
    starts.push(at - start);
    const next = deliveries.deliveryLeased(task, "lease", at)!;
    expect(next.delivery!.step!.at).toBeLessThanOrEqual(expiresAt);
    task = deliveries.deliveryLapsed(next, next.delivery!.step!.at);
  }
  expect(starts.at(-1)).toBeLessThan(assetMs);
  expect(task.delivery!.state).toBe("failed");
  expect(transitions.due(task, expiresAt)).toBe("announce_delivery");
});

test("a report with another lease, or after the lease expired, is ignored", () => {
  expect(deliveries.deliveryReported(leased, "other", report({ status: 200 }, both), start)).toBeUndefined();
  const late = deliveries.deliveryLapsed(leased, start + 70_008);
  expect(late.delivery).toMatchObject({ state: "pending", attempts: [{ fault: "interrupted" }], step: { do: "wait" } });
  expect(deliveries.deliveryReported(late, "lease", report({ status: 200 }, both), start)).toBeUndefined();
});

test("an object that wakes after its files have expired fails the delivery, then erases the files", () => {
  expect(transitions.due(waiting, start + 2 * day)).toBe("deliver");
  expect(deliveries.deliveryLeased(waiting, "lease", start + 2 * day)).toBeUndefined();
  const expired = deliveries.deliveryExpired(waiting as CompletedTask, start + 2 * day);
  expect(expired.delivery).toMatchObject({ state: "failed", step: { do: "announce" } });
  expect(transitions.due(deliveries.announced(expired), start + 2 * day)).toBe("erase");
});

test("the record has the latest twenty attempts", () => {
  let task: FinalTask = leased;
  for (let attempt = 0; attempt < 30; attempt++) {
    task = reported(task, { status: 500, ms: attempt });
    task = { ...task, delivery: { ...task.delivery!, step: { do: "delivering", at: start, lease: "lease" } } };
  }
  expect(task.delivery!.attempts.map(({ ms }) => ms)).toEqual(Array.from({ length: 20 }, (_, at) => at + 10));
});

test("a task whose settlement is not in its record is settled again, because its delivery has not begun", () => {
  const task = completed(images(1_000));
  const lives = { assetMs: day, recordMs: 7 * day };
  expect(reloaded(task, lives, start + 2 * day)).toBe(task);
  expect(reloadedAt(task, start + 2 * day, lives)).toBe(task);
  const { deliverTo: _, ...without } = submission;
  const plain = { ...task, submission: without };
  expect(reloaded(plain, lives, start + 2 * day).step.do).toBe("erase");
});

test("the owner's deletion ends the delivery and its callback", () => {
  const { delivery, deliveryCallback, submission: kept } = afterEnd.deleted(calls.deliveryCallbackBegun(delivered, start), start);
  expect([delivery, deliveryCallback, kept.deliverTo]).toEqual([undefined, undefined, undefined]);
});

test("calls about the delivery wait until those about the task have ended", () => {
  const first = calls.callbackBegun(delivered, start);
  const second = calls.deliveryCallbackBegun(deliveries.announced(first), start);
  expect(calls.isAboutDelivery(second)).toBe(false);
  expect(transitions.due(second, start + 1_999)).toBeUndefined();
  const calling = calls.callbackClaimed(second, "a", start)!;
  const ended = calls.callbackReported(calling, "a", { outcome: "attempted", at: start, ms: 1, status: 204 }, start)!;
  expect(calls.isAboutDelivery(ended)).toBe(true);
  expect(transitions.due(ended, start)).toBe("notify");
  const sent = calls.callbackSent(ended, start);
  expect(sent.callback).toEqual(ended.callback);
  const about = calls.callbackClaimed(sent, "b", start)!;
  expect([about.callback!.step, about.deliveryCallback!.step?.do]).toEqual([undefined, "calling"]);
  // The owner requests the first one again meanwhile: both reports find their own call.
  const again = calls.callbackClaimed(calls.callbackBegun(about, start), "c", start)!;
  const answered = calls.callbackReported(again, "b", { outcome: "attempted", at: start, ms: 1, status: 500 }, start)!;
  expect([answered.callback!.step?.do, answered.deliveryCallback]).toMatchObject(["calling", { state: "pending", failures: 1 }]);
  const last = calls.callbackReported(answered, "c", { outcome: "attempted", at: start, ms: 1, status: 204 }, start)!;
  expect(transitions.wakeAt(last)).toBe(start + 5_000);
});

test("a receiver that was called by a crashed consumer about the delivery is called again", () => {
  const about = calls.callbackClaimed(
    calls.callbackSent(calls.deliveryCallbackBegun(deliveries.announced(delivered), start), start),
    "b",
    start,
  )!;
  expect(transitions.due(about, start + 20_000)).toBe("call_lapsed");
  expect(calls.callLapsed(about, start + 20_000).deliveryCallback).toMatchObject({ failures: 1, attempts: [{ fault: "interrupted" }] });
  expect(calls.callLapsed(about, start + 20_000).callback).toBeUndefined();
});

/** Every transition of a final task's delivery: when it is attempted, and how it ends. Pure, like `task.ts`. */

import { listFiles } from "../files.ts";
import type { CompletedTask, Delivery, DeliveryAttempt, DeliveryReport, FinalTask, Task } from "../record.ts";

/** Milliseconds between attempts; the last one repeats until shortly before the files expire. */
export const deliveryDelaysMs = [5_000, 30_000, 120_000, 600_000, 3_600_000, 14_400_000];
/** The time limit of an attempt: for each file this, and its bytes at a quarter of a megabyte a second. */
const fileMs = 30_000;
const bytesPerMs = 250;
/** An alarm runs for at most fifteen minutes. */
const maxAttemptMs = 600_000;
/** From the time limit of an attempt to the end of its lease. */
const graceMs = 10_000;
const postponedMs = 30_000;
/** The number of latest attempts in the record. */
const maxAttempts = 20;

export type DeliveryDue = "deliver" | "delivery_lapsed" | "announce_delivery";

const dueAtStep: Record<NonNullable<Delivery["step"]>["do"], DeliveryDue> = {
  wait: "deliver",
  delivering: "delivery_lapsed",
  announce: "announce_delivery",
};

/** The due step of the delivery, or undefined if none is due. */
export const deliveryDue = ({ delivery }: Task, now: number): DeliveryDue | undefined =>
  delivery?.step && now >= delivery.step.at ? dueAtStep[delivery.step.do] : undefined;

/** True if the task's files are to be delivered and their delivery has not begun. */
export const awaitsDelivery = (task: FinalTask): task is CompletedTask =>
  task.status === "completed" && task.submission.deliverTo !== undefined && !task.delivery && !task.isDeleted;

/** The settled task's files are to be delivered, from now on. */
export const deliveryBegun = <T extends FinalTask>(task: T, now: number): T =>
  awaitsDelivery(task)
    ? { ...task, delivery: { state: "pending", step: { do: "wait", at: now }, failures: 0, attempts: [], files: [] } }
    : task;

/**
 * The owner requests the delivery at once: files that have arrived are sent again only if all have. Unchanged while an attempt runs or an end
 * is announced. undefined if the files are about to be deleted.
 */
export function deliveryRepeated(task: CompletedTask, now: number): CompletedTask | undefined {
  const { delivery } = task;
  if (!delivery || delivery.step?.do === "delivering" || delivery.step?.do === "announce") return task;
  const files = delivery.state === "delivered" ? [] : delivery.files;
  const again = withStep({ ...task, delivery: { ...delivery, state: "pending", failures: 0, files } }, { do: "wait", at: now });
  return attemptMs(again, now) > 0 ? again : undefined;
}

/** The files that have not arrived yet, by their names at the far end. */
export function filesLeft({ result, delivery, submission }: CompletedTask): ReturnType<typeof listFiles> {
  const arrived = new Set(delivery?.files.map(({ name }) => name));
  const files = listFiles(result);
  // A presigned URL takes one file.
  return (submission.deliverTo?.url === undefined ? files : files.slice(0, 1)).filter(({ name }) => !arrived.has(name));
}

/** The time limit of an attempt that begins now, in milliseconds: its lease ends before the files are deleted. */
export function attemptMs(task: CompletedTask, now: number): number {
  const left = filesLeft(task);
  const wantedMs = left.reduce((ms, { asset }) => ms + fileMs + asset.bytes / bytesPerMs, 0);
  return Math.floor(Math.min(wantedMs, maxAttemptMs, task.expiresAt - graceMs - now));
}

/** When the last attempt begins at the latest: early enough for it to end before the files are deleted. Shorter where files live for minutes (`ASSET_TTL_S`). */
const lastStart = ({ finalAt, expiresAt }: CompletedTask) => expiresAt - Math.min(maxAttemptMs + graceMs, (expiresAt - finalAt) / 4);

/** A due attempt begins under a lease; undefined if none is due or the files are about to be deleted. */
export function deliveryLeased(task: FinalTask, lease: string, now: number): CompletedTask | undefined {
  if (task.status !== "completed" || task.delivery?.step?.do !== "wait" || now < task.delivery.step.at) return undefined;
  const ms = attemptMs(task, now);
  return ms > 0 ? withStep(task, { do: "delivering", at: now + ms + graceMs, lease }) : undefined;
}

/** Takes the report of an attempt made under `lease`; undefined if the lease is no longer valid. */
export function deliveryReported(task: FinalTask, lease: string, report: DeliveryReport, now: number): FinalTask | undefined {
  const step = task.delivery?.step;
  if (task.status !== "completed" || !task.delivery || step?.do !== "delivering" || step.lease !== lease) return undefined;
  const { files } = task.delivery;
  const arrived = report.files.filter((file) => !files.some(({ name }) => name === file.name));
  const after = { ...task, delivery: { ...task.delivery, files: [...files, ...arrived] } };
  return report.outcome === "postponed" ? withStep(after, { do: "wait", at: now + postponedMs }) : attempted(after, report, now);
}

/** The lease expired: the files may have arrived, but no report says so. */
export const deliveryLapsed = (task: CompletedTask, now: number): FinalTask =>
  attempted(task, { at: Math.min(now, task.delivery!.step!.at), ms: 0, fault: "interrupted" }, now);

/** The files are deleted before they could be delivered. */
export const deliveryExpired = (task: CompletedTask, now: number): FinalTask => ended(task, task.delivery!, "failed", now);

/** The end of the delivery could not be announced yet. */
export const announceFailed = (task: FinalTask, now: number): FinalTask => {
  const failures = (task.delivery?.failures ?? 0) + 1;
  return {
    ...task,
    delivery: { ...task.delivery!, failures, step: { do: "announce", at: now + Math.min(60_000, 1_000 * 2 ** failures) } },
  };
};

/** The end of the delivery is among the account's events. */
export function announced<T extends FinalTask>(task: T): T {
  const { step: _step, ...delivery } = task.delivery!;
  return { ...task, delivery };
}

const withStep = (task: CompletedTask, step: Delivery["step"] & object): CompletedTask => ({
  ...task,
  delivery: { ...task.delivery!, step },
});

/** The event of the end is announced next. The counter of failures is that of the announcement from here on. */
const ended = (task: CompletedTask, delivery: Delivery, state: "delivered" | "failed", now: number): CompletedTask => ({
  ...task,
  delivery: { ...delivery, state, failures: 0, endedAt: now, step: { do: "announce", at: now } },
});

function attempted(task: CompletedTask, report: DeliveryAttempt & { isLast?: boolean }, now: number): CompletedTask {
  const { at, ms, status, fault, code, isLast } = report;
  const attempt: DeliveryAttempt = {
    at,
    ms,
    ...(status !== undefined && { status }),
    ...(fault && { fault }),
    ...(code !== undefined && { code }),
  };
  const delivery = { ...task.delivery!, attempts: [...task.delivery!.attempts, attempt].slice(-maxAttempts) };
  const isComplete = filesLeft(task).length === 0;
  // An address that is not allowed, and a destination that was removed, are no reason to wait.
  if (isComplete || isLast || fault === "blocked_url" || fault === "no_destination")
    return ended(task, delivery, isComplete ? "delivered" : "failed", now);
  const last = lastStart(task);
  if (now >= last) return ended(task, delivery, "failed", now);
  const failures = delivery.failures + 1;
  const delayMs = deliveryDelaysMs[Math.min(failures, deliveryDelaysMs.length) - 1]!;
  return withStep({ ...task, delivery: { ...delivery, failures } }, { do: "wait", at: Math.min(now + delayMs, last) });
}

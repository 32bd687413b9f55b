/** The record of an operation, and its state at a time. Pure: a stored record does not change, its state follows from the time. */

import { directivesIn } from "./directives.ts";
import { orderPixels, type Order } from "./orders.ts";
import { makeName } from "./names.ts";
import { PORTRAIT_SIZE } from "./drawing/portrait.ts";

export interface Failure {
  code: "content_policy_violation" | "provider_error" | "invalid_input";
  message: string;
}

/** Everything stored of an operation: its outputs are generated from this at each download. */
export interface OperationRecord {
  order: Order;
  /** Milliseconds since 1970, like all times here. */
  createdAt: number;
  /** When the work ends; null if it never does. */
  readyAt: number | null;
  /** The failure with which it ends; null for success. */
  failure: Failure | null;
  /** Faults that are still to occur once each: at a submission, at a status query. */
  faults: ("submission" | "status")[];
}

export type Status = "queued" | "running" | "succeeded" | "failed";

/** A record that is not erased is deleted this long after its creation: the gateway's tasks last ten minutes. */
export const LIFETIME_MS = 30 * 60 * 1000;

const TIMES_MS = { image: 2000, character: 3000, video: 6000, remix: 6000 };
const SLOW_MS = 60_000;

/** The record of a new operation; `failure` if it is known to fail. */
export function newRecord(order: Order, now: number, failure: Failure | null = null): OperationRecord {
  const directives = directivesIn("prompt" in order ? order.prompt : "");
  let end = failure;
  if (directives.has("flag")) end = { code: "content_policy_violation", message: "the content is against the sandbox's rules" };
  else if (directives.has("fail")) end = { code: "provider_error", message: "the sandbox failed, as it was told to" };
  const duration = directives.has("slow") ? SLOW_MS : TIMES_MS[order.kind];
  return {
    order,
    createdAt: now,
    readyAt: directives.has("hang") ? null : now + duration,
    failure: end,
    faults: directives.has("flaky") ? ["submission", "status"] : [],
  };
}

export function statusAt(record: OperationRecord, now: number): Status {
  if (isOver(record, now)) return record.failure ? "failed" : "succeeded";
  return progressAt(record, now) < 5 ? "queued" : "running";
}

/**
 * Milliseconds until the next poll: a third of the duration, but between two and five seconds,
 * and the last poll right after the end. A video is polled three times, an image once.
 */
export function pollAfterMs(record: OperationRecord, now: number): number {
  if (record.readyAt === null) return 5000;
  const step = Math.min(5000, Math.max(2000, (record.readyAt - record.createdAt) / 3));
  const left = Math.max(0, record.readyAt - now);
  return left <= step * 1.25 ? left + 20 : Math.round(step);
}

/** The operation in its wire format. */
export function toView(id: string, record: OperationRecord, now: number) {
  const status = statusAt(record, now);
  if (status === "succeeded")
    return { id, status, progress: 100, outputs: listOutputs(id, record.order), ...toCharacter(id, record.order) };
  const progress = progressAt(record, now);
  if (status === "failed") return { id, status, progress, error: record.failure };
  return { id, status, progress, poll_after_ms: pollAfterMs(record, now) };
}

function listOutputs(id: string, order: Order) {
  const at = (index: number) => `/v1/operations/${id}/outputs/${index}`;
  if (order.kind === "character") return [{ url: at(0), type: "image/png", width: PORTRAIT_SIZE, height: PORTRAIT_SIZE }];
  const pixels = orderPixels(order);
  if (order.kind === "image") return Array.from({ length: order.n }, (_, index) => ({ url: at(index), type: "image/png", ...pixels }));
  const thumbnail = order.thumbnail ? { thumbnail_url: `${at(0)}/thumbnail` } : {};
  return [{ url: at(0), type: "video/mp4", ...pixels, duration: order.duration, ...thumbnail }];
}

function toCharacter(id: string, order: Order) {
  if (order.kind !== "character") return {};
  return { character: { ...makeName(id), ...(order.name && { display_name: order.name }) } };
}

function isOver(record: OperationRecord, now: number): boolean {
  return record.readyAt !== null && now >= record.readyAt;
}

function progressAt(record: OperationRecord, now: number): number {
  const elapsed = Math.max(0, now - record.createdAt);
  // The progress of an operation that never ends approaches 90 %.
  if (record.readyAt === null) return Math.floor(90 * (1 - Math.exp(-elapsed / SLOW_MS)));
  return Math.min(99, Math.floor((100 * elapsed) / Math.max(1, record.readyAt - record.createdAt)));
}

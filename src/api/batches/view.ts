/** A batch as its callers see it. */

import { toSeconds } from "../../base/times.ts";
import { toUnits } from "../../db/ledger.ts";
import type { Batch, Deliveries } from "./state.ts";

/** Lines by state, and amounts in millionths. */
interface Sums {
  running: number;
  completed: number;
  failed: number;
  charged: number;
  reserved: number;
  deliveries: Deliveries | undefined;
}

/** `GET /v1/batches/{id}`. */
export function toView(batch: Batch, { running, completed, failed, charged, reserved, deliveries }: Sums) {
  const { terms, status, total, waiting, errors, resultsFile, cancelledAt, endedAt, typicalSeconds, expected, results } = batch;
  const left = total - completed - failed;
  return {
    id: terms.id,
    object: "batch" as const,
    status,
    created_at: toSeconds(terms.createdAt),
    counts: { total, queued: Math.max(0, left - running), running, completed, failed },
    cost: {
      reserved: toUnits(reserved),
      charged: toUnits(charged),
      limit: terms.maxCost === undefined ? null : toUnits(terms.maxCost),
      ...(expected !== undefined && { expected: toUnits(expected) }),
    },
    concurrency: terms.concurrency,
    ...(terms.inputFile !== undefined && { input_file: terms.inputFile }),
    ...(terms.reference !== undefined && { reference: terms.reference }),
    ...(terms.openAi && { openai: terms.openAi }),
    ...(terms.deliverTo && { deliver_to: terms.deliverTo }),
    ...((terms.deliverTo || deliveries) && { deliveries: deliveries ?? { pending: 0, delivered: 0, failed: 0 } }),
    ...(waiting && endedAt === undefined && { waiting_for: waiting.for }),
    ...(status === "in_progress" &&
      typicalSeconds !== undefined && { estimated_time: Math.ceil(left / terms.concurrency) * typicalSeconds }),
    ...(cancelledAt !== undefined && { cancelled_at: toSeconds(cancelledAt) }),
    ...(endedAt !== undefined && { ended_at: toSeconds(endedAt) }),
    ...(resultsFile !== undefined && results?.id === resultsFile && { results_file: resultsFile }),
    ...(errors && { errors }),
  };
}

export type BatchView = ReturnType<typeof toView>;

/** The receipt of a final task: the request, its cost and its outcome. Contains no provider's name. */

import { hexDigest } from "../../base/file-id.ts";
import { toUnits } from "../../db/ledger.ts";
import type { FinalTask, Task } from "../record.ts";
import { listAssets } from "./views.ts";
import { toSeconds } from "../../base/times.ts";

/**
 * How many routes were asked to do the work. Each route that was replaced has left an attempt, also one whose result was used in the end.
 */
export const countAttempts = ({ attempts, route, askedAt, operation, result }: Task) =>
  attempts.length + (route >= attempts.length && (askedAt !== undefined || operation !== undefined || result) ? 1 : 0);

/** The receipt of a final task, amounts in balance units. */
export function toReceipt(task: FinalTask) {
  const { submission, charged, result } = task;
  const { bodyDigest, priceRule, reference = null, price } = submission;
  return {
    object: "generation.receipt",
    id: task.id,
    account: submission.accountId,
    kind: submission.kind,
    model: submission.model,
    reference,
    status: task.status,
    created_at: toSeconds(task.createdAt),
    started_at: toSeconds(task.startedAt ?? null),
    ended_at: toSeconds(task.finalAt),
    request_sha256: bodyDigest,
    price: priceRule,
    reserved: toUnits(price),
    charged: toUnits(charged),
    returned: toUnits(price - charged),
    attempts: countAttempts(task),
    files: (result ? listAssets(result) : []).map(({ key, type, bytes, digest, credentials }) => ({
      name: key.slice(key.lastIndexOf("/") + 1),
      type,
      bytes,
      sha256: hexDigest(digest),
      ...(credentials && { credentials }),
    })),
  };
}

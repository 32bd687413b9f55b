/** `?dry_run=true`: the price of a submission or chat and the remaining balance, or its error. Nothing is reserved, stored or sent. */

import { maxOpenTasks } from "../config.ts";
import { previewReserve, toUnits } from "../db/ledger.ts";
import { ApiError } from "../errors.ts";
import { type AppContext, answer } from "./frame.ts";

/** The submission: `price` in millionths, `metadata` as in the submission's answer. */
interface Preview {
  kind: string;
  model: string;
  price: number;
  typicalSeconds: number;
  metadata: object;
}

/** Answers a dry run of a checked submission. Throws the reservation's error. */
export async function answerDryRun(c: AppContext, { kind, model, price, typicalSeconds, metadata }: Preview): Promise<Response> {
  const { answer: reserved, left } = await previewReserve(c.env.DB, { ...c.get("caller"), kind }, price, maxOpenTasks(c.env));
  if (reserved !== "reserved") throw new ApiError(reserved === "too_many" ? "too_many_open_tasks" : "insufficient_quota");
  return answer(c, {
    object: "generation.dry_run",
    model,
    kind,
    price: toUnits(price),
    // As on the balance paths, -1 means no limit.
    remaining_after: left === null ? -1 : toUnits(left - price),
    estimated_time: typicalSeconds,
    metadata,
  });
}

/** `?dry_run=true`: what a submission or chat would cost and what would be left, or the error that it would get. Nothing is reserved, stored or sent. */

import { maxOpenTasks } from "../config.ts";
import { previewReserve, toUnits } from "../db/ledger.ts";
import { ApiError } from "../errors.ts";
import { type AppContext, answer } from "./frame.ts";

/** What would be submitted: `price` in millionths, `metadata` as the submission's answer would show it. */
interface Preview {
  kind: string;
  model: string;
  price: number;
  typicalSeconds: number;
  metadata: object;
}

/** Answers a dry run of what was checked. Throws what the reservation would be refused for. */
export async function answerDryRun(c: AppContext, { kind, model, price, typicalSeconds, metadata }: Preview): Promise<Response> {
  const caller = c.get("caller");
  const limits = [maxOpenTasks(c.env), caller.scope?.maxOpenTasks] as const;
  const { answer: reserved, left } = await previewReserve(c.env.DB, { ...caller, kind }, price, ...limits);
  if (reserved !== "reserved") throw new ApiError(reserved === "too_many" ? "too_many_open_tasks" : "insufficient_quota");
  return answer(c, {
    object: "generation.dry_run",
    model,
    kind,
    price: toUnits(price),
    // As on the balance paths, -1 where there is no limit.
    remaining_after: left === null ? -1 : toUnits(left - price),
    estimated_time: typicalSeconds,
    metadata,
  });
}

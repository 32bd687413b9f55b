/** Holds the price of a chat in its account's wallet before an upstream is asked. */

import { chatDeadlineMs } from "../../catalog/chat-tokens.ts";
import type { Charge } from "../../db/ledger.ts";
import { ApiError, budgetExceeded } from "../../base/errors.ts";
import { retry } from "../../base/retry.ts";
import type { ReserveAnswer } from "../../wallet/limits.ts";
import { holdTogether } from "../../wallet/line.ts";
import { settleChat, settleGathered } from "../../wallet/settlements.ts";

/** The time after a chat's deadline when the wallet releases its hold: by then its Worker has ended, and a settlement that went to the queue has arrived. */
const graceMs = 300_000;

/** When the wallet releases the hold of a chat that is asked now. */
export const chatHoldEnds = (): number => Date.now() + chatDeadlineMs + graceMs;

/**
 * Holds `held` (millionths). Throws an `ApiError` if it cannot be held. If the outcome is unknown the hold is settled at nothing, in case
 * it exists or is still made.
 */
export async function holdForChat(env: Env, ctx: Pick<ExecutionContext, "waitUntil">, charge: Charge, held: number): Promise<void> {
  const deadline = chatHoldEnds();
  const isHeld = await holdTogether(env.WALLETS, { charge, held, deadline });
  if (isHeld) return;
  const giveUp = () => ctx.waitUntil(settleChat(env, { charge, held, charged: 0, outcome: "provider_error" }) ?? Promise.resolve());
  // A new stub for each attempt: one that threw may stay broken.
  const reserve = async (): Promise<ReserveAnswer> => env.WALLETS.getByName(charge.accountId).reserve(charge, held, { deadline });
  const reserveOrGiveUp = () =>
    retry("reserve", charge.taskId, reserve).catch((cause: unknown) => {
      giveUp();
      throw new ApiError("unavailable", { cause });
    });
  let made = await reserveOrGiveUp();
  // What chats that were answered still hold may be what is missing.
  if (made.answer !== "reserved" && (await settleGathered(env, charge.accountId))) made = await reserveOrGiveUp();
  if (made.answer === "reserved") return;
  if (isHeld === undefined) giveUp(); // the shared call may still arrive, when there is something to hold
  if (made.answer === "budget") throw budgetExceeded(made.until);
  throw new ApiError(made.answer === "insufficient" ? "insufficient_quota" : "unavailable");
}

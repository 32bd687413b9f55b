/** The money of a chat: held in its account's wallet before an upstream is called, settled when the chat has ended. */

import type { Charge } from "../db/ledger.ts";
import { ApiError, budgetExceeded } from "../errors.ts";
import { alert } from "../log.ts";
import { retry } from "../retry.ts";
import type { ReserveAnswer } from "../tasks/wallet-limits.ts";

/** The longest duration of a chat. */
export const chatDeadlineMs = 600_000;
/** When the wallet releases a hold that is still open: the Worker that answered has ended by then. */
const graceMs = 60_000;

export interface ChatHold {
  /** Settles the hold: `charged` in millionths, or undefined for a chat that failed and costs nothing. */
  settle(charged: number | undefined): Promise<void>;
}

/** Holds `amount` (millionths). Throws an `ApiError` if it cannot be held; then nothing is held. */
export async function holdForChat(env: Env, charge: Charge, amount: number): Promise<ChatHold> {
  // A new stub each time: one that threw may stay broken.
  const wallet = () => env.WALLETS.getByName(charge.accountId);
  const settle = (charged: number | undefined) =>
    retry("settle", charge.taskId, () =>
      wallet().settle(charge, charged ?? 0, charged === undefined ? "provider_error" : "completed", amount),
    );
  const deadline = Date.now() + chatDeadlineMs + graceMs;
  try {
    const held = await retry(
      "reserve",
      charge.taskId,
      async (): Promise<ReserveAnswer> => await wallet().reserve(charge, amount, { deadline }),
    );
    if (held.answer === "reserved") return { settle };
    if (held.answer === "budget") throw budgetExceeded(held.until);
    throw new ApiError(held.answer === "insufficient" ? "insufficient_quota" : "unavailable");
  } catch (error) {
    if (error instanceof ApiError) throw error;
    // The outcome of the reservation is unknown: settle it here; if that fails, its deadline releases it.
    await settle(undefined).catch((fault: unknown) => alert("settle", { task: charge.taskId, outcome: "fault" }, fault));
    throw new ApiError("unavailable", { cause: error });
  }
}

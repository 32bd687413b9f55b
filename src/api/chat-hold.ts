/** The money of a chat: held in its account's wallet before an upstream is called, settled when the chat has ended. */

import type { Charge } from "../db/ledger.ts";
import { ApiError, budgetExceeded } from "../errors.ts";
import { alert } from "../log.ts";
import { retry } from "../retry.ts";
import type { ReserveAnswer } from "../tasks/wallet-limits.ts";
import { callTogether } from "../tasks/wallet-line.ts";
import type { Watch } from "./watch.ts";

/** The longest duration of a chat. */
export const chatDeadlineMs = 600_000;
/** When the wallet releases a hold that is still open: the Worker that answered has ended by then. */
const graceMs = 60_000;
/** For five seconds: a chat whose settlement fails costs nothing, although the upstream has answered, and its caller gets an error. */
const settleAttempts = 10;

export interface ChatHold {
  /** Settles the hold: `charged` in millionths, or undefined for a chat that failed and costs nothing. */
  settle(charged: number | undefined): Promise<void>;
}

/** Holds `held` (millionths). Throws an `ApiError` if it cannot be held; then nothing is held. */
export async function holdForChat(env: Env, charge: Charge, held: number, watch: Watch): Promise<ChatHold> {
  // A new stub each time: one that threw may stay broken.
  const wallet = () => env.WALLETS.getByName(charge.accountId);
  const settle = async (price: number | undefined) => {
    const [charged, outcome] = price === undefined ? [0, "provider_error"] : [price, "completed"];
    if (await callTogether(env.WALLETS, { charge, held, charged, outcome }, watch)) return;
    await retry("settle", charge.taskId, () => wallet().settle(charge, charged, outcome, held), settleAttempts);
  };
  const deadline = Date.now() + chatDeadlineMs + graceMs;
  const isHeld = await callTogether(env.WALLETS, { charge, held, deadline }, watch);
  if (isHeld) return { settle };
  /** Ends a reservation whose outcome is unknown; if that fails, its deadline releases it. */
  const giveUp = () => settle(undefined).catch((fault: unknown) => alert("settle", { task: charge.taskId, outcome: "fault" }, fault));
  try {
    const { answer, until } = await retry(
      "reserve",
      charge.taskId,
      async (): Promise<ReserveAnswer> => await wallet().reserve(charge, held, { deadline }),
    );
    if (answer === "reserved") return { settle };
    if (isHeld === undefined) await giveUp(); // the shared call may still come, when it could be held
    if (answer === "budget") throw budgetExceeded(until);
    throw new ApiError(answer === "insufficient" ? "insufficient_quota" : "unavailable");
  } catch (error) {
    if (error instanceof ApiError) throw error;
    await giveUp();
    throw new ApiError("unavailable", { cause: error });
  }
}

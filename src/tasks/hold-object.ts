/**
 * The owner of a chat's reservation before wallet objects existed. Chats that were running at that deployment settle in D1's own ledger;
 * calls from Workers of the previous version are passed to the wallet. A migration can delete this class an hour after that deployment.
 */

import { DurableObject } from "cloudflare:workers";
import { alert } from "../log.ts";
import { type Charge, settle } from "../db/ledger.ts";

interface Hold {
  charge: Charge;
  amount: number;
  /** Missing for a hold in D1's own ledger. */
  heldBy?: "wallet";
  /** The chat's charge in millionths, 0 if it failed. */
  end?: { charged: number; outcome: "completed" | "provider_error" };
}

/** The longest duration of a chat; an older hold belongs to a crashed Worker. */
const chatDeadlineMs = 600_000;
const graceMs = 60_000;

export class HoldObject extends DurableObject<Env> {
  /** Reserves the amount for the chat. Stores nothing if the reservation is refused. */
  async hold(charge: Charge, amount: number): Promise<"reserved" | "insufficient" | "unavailable"> {
    this.ctx.storage.transactionSync(() => {
      this.ctx.storage.kv.put<Hold>("hold", { charge, amount, heldBy: "wallet" });
      void this.ctx.storage.setAlarm(Date.now() + chatDeadlineMs + graceMs);
    });
    try {
      const { answer } = await this.#wallet(charge).reserve(charge, amount, {});
      if (answer === "reserved") return "reserved";
      await this.ctx.storage.deleteAll();
      return answer === "insufficient" ? "insufficient" : "unavailable";
    } catch (error) {
      // The reservation's outcome is unknown: settle it at once, and by the alarm if that fails too.
      alert("reserve", { task: charge.taskId, outcome: "unavailable" }, error);
      await this.end(undefined);
      return "unavailable";
    }
  }

  /**
   * Settles the chat: its charge in millionths, or 0 if it failed. The first call decides; the alarm repeats it until the ledger has
   * confirmed it.
   */
  async end(charged: number | undefined): Promise<void> {
    const hold = this.ctx.storage.kv.get<Hold>("hold");
    if (!hold) return;
    if (!hold.end) {
      const end =
        charged === undefined ? ({ charged: 0, outcome: "provider_error" } as const) : ({ charged, outcome: "completed" } as const);
      this.ctx.storage.kv.put<Hold>("hold", { ...hold, end });
    }
    await this.#settle();
  }

  #wallet({ accountId }: Charge) {
    return this.env.WALLETS.getByName(accountId);
  }

  override async alarm(): Promise<void> {
    await this.#settle();
  }

  async #settle(): Promise<void> {
    const hold = this.ctx.storage.kv.get<Hold>("hold");
    if (!hold) return;
    try {
      const { charged, outcome } = hold.end ?? { charged: 0, outcome: "deadline_exceeded" as const };
      const { charge, amount } = hold;
      if (hold.heldBy === "wallet") await this.#wallet(charge).settle(charge, charged, outcome, amount);
      else await settle(this.env.DB, charge, charged, outcome);
      await this.ctx.storage.deleteAll();
    } catch (error) {
      alert("settle", { task: hold.charge.taskId, outcome: "retry" }, error);
      await this.ctx.storage.setAlarm(Date.now() + 10_000);
    }
  }
}

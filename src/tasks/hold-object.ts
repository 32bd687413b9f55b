/**
 * The owner of a chat's reservation from before there were wallet objects: chats that were under way at that deployment end in D1's
 * own ledger, those of Workers of the version before go through to the wallet. The class can go with a migration that deletes it, an hour after that deployment.
 */

import { DurableObject } from "cloudflare:workers";
import { alert } from "../log.ts";
import { type Charge, settle } from "../db/ledger.ts";

interface Hold {
  charge: Charge;
  amount: number;
  /** Without it, in D1's own ledger. */
  heldBy?: "wallet";
  /** The chat's charge in millionths, 0 if it failed. */
  end?: { charged: number; outcome: "completed" | "provider_error" };
}

/** No chat takes longer; a hold that is older belongs to a crashed Worker. */
const chatDeadlineMs = 600_000;
const graceMs = 60_000;

export class HoldObject extends DurableObject<Env> {
  /** Reserves the amount for the chat. Stores nothing if it is refused. */
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
      // The ledger may have the reservation: end it at once, and by the alarm if that fails too.
      alert("reserve", { task: charge.taskId, outcome: "unavailable" }, error);
      await this.end(undefined);
      return "unavailable";
    }
  }

  /** Ends the chat with its charge, or 0 if it failed. The first call decides; the alarm repeats it until the ledger has it. */
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

/** Owns a chat's reservation: if the Worker that answers the chat crashes, its alarm returns the money. */

import { DurableObject } from "cloudflare:workers";
import { maxOpenTasks } from "../config.ts";
import { alert } from "../log.ts";
import { type Charge, settle, reserve } from "../db/ledger.ts";

interface Hold {
  charge: Charge;
  amount: number;
  /** The chat's charge in millionths, 0 if it failed. */
  end?: { charged: number; outcome: "completed" | "provider_error" };
}

/** No chat takes longer; a hold that is older belongs to a crashed Worker. */
export const chatDeadlineMs = 600_000;
const graceMs = 60_000;

export class HoldObject extends DurableObject<Env> {
  /** Reserves the amount for the chat. Stores nothing if it is refused. */
  async hold(charge: Charge, amount: number): Promise<"reserved" | "insufficient" | "unavailable"> {
    this.ctx.storage.transactionSync(() => {
      this.ctx.storage.kv.put<Hold>("hold", { charge, amount });
      void this.ctx.storage.setAlarm(Date.now() + chatDeadlineMs + graceMs);
    });
    try {
      const answer = await reserve(this.env.DB, charge, amount, maxOpenTasks(this.env));
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

  override async alarm(): Promise<void> {
    await this.#settle();
  }

  async #settle(): Promise<void> {
    const hold = this.ctx.storage.kv.get<Hold>("hold");
    if (!hold) return;
    try {
      const { charged, outcome } = hold.end ?? { charged: 0, outcome: "deadline_exceeded" as const };
      await settle(this.env.DB, hold.charge, charged, outcome);
      await this.ctx.storage.deleteAll();
    } catch (error) {
      alert("settle", { task: hold.charge.taskId, outcome: "retry" }, error);
      await this.ctx.storage.setAlarm(Date.now() + 10_000);
    }
  }
}

/** What the gateway hands to the payments Worker with each call: it moves quotas, reads balances, and sends e-mail to owners. */

import { RpcTarget } from "cloudflare:workers";
import type { AccountChange, Announcer } from "../db/account-changes.ts";
import type { Credit } from "../db/credits.ts";

const stripe = { kind: "system", id: "stripe", address: null } as const;

/** Automatic top-up was paused: a payment of `amount` (millionths) was declined, or one was disputed. */
export interface TopUpPause {
  accountId: string;
  amount: number;
  reason: "declined" | "disputed";
}

export class PaymentObjects extends RpcTarget implements Announcer {
  readonly #env: Pick<Env, "WALLETS" | "CONSOLE">;

  constructor(env: Pick<Env, "WALLETS" | "CONSOLE">) {
    super();
    this.#env = env;
  }

  /** Moves the account's quota once for each id. Throws if the outcome is unknown; repeat it then. */
  async credit(accountId: string, credit: Credit): Promise<"credited" | "known"> {
    return this.#env.WALLETS.getByName(accountId).credit(credit, stripe);
  }

  /** Announces a change of the account to its wallet object; returns its revision. See `db/account-changes.ts`. */
  async announceKeys(accountId: string, change?: AccountChange): Promise<number> {
    return this.#env.WALLETS.getByName(accountId).announceKeys(change);
  }

  /**
   * What the account has left, millionths. undefined if nothing may be taken for it: it has no limit, owes after a refund or dispute, or lost
   * changes to a restored database, and the operator has not decided about them.
   */
  async left(accountId: string): Promise<number | undefined> {
    const wallet = this.#env.WALLETS.getByName(accountId);
    if ((await wallet.checkKeys()).isRestored) return undefined;
    const { [accountId]: view } = await wallet.balances();
    if (!view || view.quota === null || (view.shortfall ?? 0) > 0) return undefined;
    return view.quota - view.used - view.reserved;
  }

  /** Tells the account's owners that automatic top-up is paused. Throws if the e-mail is not accepted. */
  async mailTopUp(pause: TopUpPause): Promise<void> {
    await this.#env.CONSOLE?.mailTopUp(pause);
  }
}

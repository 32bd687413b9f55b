/** What the gateway hands to the payments Worker with each call: it moves quotas, and nothing else of the objects. */

import { RpcTarget } from "cloudflare:workers";
import type { Credit } from "../db/credits.ts";

const stripe = { kind: "system", id: "stripe", address: null } as const;

export class PaymentObjects extends RpcTarget {
  readonly #env: Pick<Env, "WALLETS">;

  constructor(env: Pick<Env, "WALLETS">) {
    super();
    this.#env = env;
  }

  /** Moves the account's quota once for each id. Throws if the outcome is unknown; repeat it then. */
  async credit(accountId: string, credit: Credit): Promise<"credited" | "known"> {
    return this.#env.WALLETS.getByName(accountId).credit(credit, stripe);
  }
}

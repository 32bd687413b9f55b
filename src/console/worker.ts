/** The console Worker: the pages at /console. The gateway forwards each request together with its own API. */

import { WorkerEntrypoint } from "cloudflare:workers";
import type { Receive } from "../rpc/gateway-api.ts";
import { serveHolding } from "../rpc/held-api.ts";
import type { TopUpPause } from "../rpc/payment-objects.ts";
import type { BudgetAlert } from "../wallet/alerts.ts";
import type { ConsoleApi } from "../rpc/console-api.ts";
import type { LowBalance } from "../db/low-balances.ts";
import { mailBudget, mailLowBalance, mailTopUp } from "./letters.ts";
import { pages } from "./pages.tsx";

export default class Console extends WorkerEntrypoint<ConsoleEnv> {
  async open(request: Request, api: ConsoleApi, receive: Receive): Promise<Response> {
    // A chat's page is streamed, and requests the balance at its end, so the API must stay usable until then.
    return serveHolding(api, this.ctx, (held) => pages.fetch(request, { ...this.env, API: held, RECEIVE: receive }, this.ctx));
  }

  async mailBudget(reached: BudgetAlert): Promise<true> {
    return mailBudget(this.env, reached);
  }

  async mailTopUp(pause: TopUpPause): Promise<true> {
    return mailTopUp(this.env, pause);
  }

  async mailLowBalance(low: LowBalance): Promise<true> {
    return mailLowBalance(this.env, low);
  }
}

/** The console Worker: the pages at /console. The gateway forwards each request together with its own API. */

import { WorkerEntrypoint } from "cloudflare:workers";
import { serveHolding } from "../held-api.ts";
import type { BudgetAlert } from "../tasks/budget-alerts.ts";
import type { Api } from "./api.ts";
import { mailBudget } from "./budget-mail.ts";
import { pages } from "./pages.tsx";

export default class Console extends WorkerEntrypoint<ConsoleEnv> {
  async open(request: Request, api: Api): Promise<Response> {
    // A chat's page is streamed, and requests the balance at its end, so the API must stay usable until then.
    return serveHolding(api, this.ctx, (held) => pages.fetch(request, { ...this.env, API: held }, this.ctx));
  }

  async mailBudget(reached: BudgetAlert): Promise<true> {
    return mailBudget(this.env, reached);
  }
}

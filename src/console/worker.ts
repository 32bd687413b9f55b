/** The console Worker: the pages at /console. The gateway forwards each request, with its own API. */

import { WorkerEntrypoint } from "cloudflare:workers";
import type { Api } from "./api.ts";
import { pages } from "./pages.tsx";

export default class Console extends WorkerEntrypoint<ConsoleEnv> {
  async open(request: Request, api: Api): Promise<Response> {
    return pages.fetch(request, { ...this.env, API: api }, this.ctx);
  }
}

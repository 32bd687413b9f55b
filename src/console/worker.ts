/** The console Worker: pages for people at /console. The gateway hands it each request, and its own API with it. */

import { WorkerEntrypoint } from "cloudflare:workers";
import type { Api } from "./api.ts";
import { pages } from "./pages.tsx";

export default class Console extends WorkerEntrypoint<ConsoleEnv> {
  async open(request: Request, api: Api): Promise<Response> {
    return pages.fetch(request, { ...this.env, API: api }, this.ctx);
  }
}

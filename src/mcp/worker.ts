/** The MCP Worker: the gateway's tools for agents at /mcp. The gateway forwards each request together with its own API. */

import { WorkerEntrypoint } from "cloudflare:workers";
import type { WorkerBehind } from "../gateway-api.ts";
import { serveHolding } from "../held-api.ts";
import type { Api } from "./api-client.ts";
import { serve } from "./http.ts";

export default class Mcp extends WorkerEntrypoint<unknown> implements WorkerBehind {
  async open(request: Request, api: Api): Promise<Response> {
    // Tools may still run while their answer is streamed.
    return serveHolding(api, this.ctx, (held) => serve(request, held));
  }
}

/** The MCP Worker: the gateway's tools for agents at /mcp. The gateway forwards each request together with its own API. */

import { WorkerEntrypoint } from "cloudflare:workers";
import type { GatewayApi, Receive, WorkerBehind } from "../../rpc/gateway-api.ts";
import { serveHolding } from "../../rpc/held-api.ts";
import { serve } from "./http.ts";

export default class Mcp extends WorkerEntrypoint<unknown> implements WorkerBehind {
  async open(request: Request, api: GatewayApi, receive: Receive): Promise<Response> {
    let release = () => {};
    // Tools may still run while their answer is streamed.
    return serveHolding(
      api,
      this.ctx,
      (held) => serve(request, held, receive, (body) => (release = body.release)),
      () => release(),
    );
  }
}

/** The MCP Worker: the gateway's tools for agents at /mcp. The gateway hands it each request, and its own API with it. */

import { WorkerEntrypoint } from "cloudflare:workers";
import type { WorkerBehind } from "../gateway-api.ts";
import type { Api } from "./api-client.ts";
import { serve } from "./http.ts";

/** A stub is good until the call that brought it returns; a duplicate until it is disposed of. */
type ApiStub = Api & { dup(): Api & Disposable };

export default class Mcp extends WorkerEntrypoint<unknown> implements WorkerBehind {
  async open(request: Request, api: Api): Promise<Response> {
    // Tools go on while their answer is streamed.
    const held = (api as ApiStub).dup();
    const release = () => held[Symbol.dispose]();
    try {
      const response = await serve(request, held);
      if (response.body) return new Response(whenOver(response.body, release), response);
      release();
      return response;
    } catch (error) {
      release();
      throw error;
    }
  }
}

/** The same bytes; calls `over` when all have been read, or when the reader gives up. */
function whenOver(body: ReadableStream<Uint8Array>, over: () => void): ReadableStream<Uint8Array> {
  const { readable, writable } = new IdentityTransformStream();
  void body.pipeTo(writable).then(over, over);
  return readable;
}

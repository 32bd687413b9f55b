/** The OpenAI Worker: OpenAI's API at /openai/v1. The gateway hands it each request, and its own API with it. */

import { WorkerEntrypoint } from "cloudflare:workers";
import { serveHolding } from "../held-api.ts";
import { type Api, paths } from "./paths.ts";

export { AttemptObject } from "./attempt-object.ts";

export default class OpenAi extends WorkerEntrypoint<OpenAiBindings> {
  async open(request: Request, api: Api): Promise<Response> {
    return serveHolding(api, (held) => paths.fetch(request, { ...this.env, API: held }, this.ctx));
  }
}

/** The OpenAI Worker: OpenAI's API at /openai/v1. The gateway forwards each request together with its own API. */

import { WorkerEntrypoint } from "cloudflare:workers";
import { type Api, paths } from "./paths.ts";

export { AttemptObject } from "./attempt-object.ts";

export default class OpenAi extends WorkerEntrypoint<OpenAiBindings> {
  async open(request: Request, api: Api): Promise<Response> {
    return paths.fetch(request, { ...this.env, API: api }, this.ctx);
  }
}

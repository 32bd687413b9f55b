/** The OpenAI Worker: OpenAI's API at /openai/v1. The gateway forwards each request together with its own API. */

import { WorkerEntrypoint } from "cloudflare:workers";
import type { GatewayApi, KeyOwner, Receive, Refusal, WorkerBehind } from "../../rpc/gateway-api.ts";
import { inJurisdiction } from "../../jurisdiction.ts";
import { paths } from "./paths.ts";

export { AttemptObject } from "./attempt-object.ts";

export default class OpenAi extends WorkerEntrypoint<OpenAiBindings> implements WorkerBehind {
  async open(
    request: Request,
    api: GatewayApi,
    receive: Receive,
    refusal?: Refusal,
    models?: readonly string[],
    owner?: KeyOwner,
  ): Promise<Response> {
    const bindings = {
      ...inJurisdiction(this.env),
      API: api,
      RECEIVE: receive,
      ...(refusal && { REFUSAL: refusal }),
      ...(models && { MODELS: models }),
      ...(owner && { OWNER: owner }),
    };
    return paths.fetch(request, bindings, this.ctx);
  }
}

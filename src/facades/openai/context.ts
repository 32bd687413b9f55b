/** The bindings and variables of a request to OpenAI's paths, and hono's context with them. */

import type { ApiClient } from "../client.ts";
import type { GatewayApi, KeyOwner, Receive, Refusal } from "../../rpc/gateway-api.ts";
import type { Context } from "hono";

export interface AppEnv {
  Bindings: OpenAiBindings & {
    API: GatewayApi;
    RECEIVE: Receive;
    /** The gateway's answer to this request if it has no valid key */
    REFUSAL?: Refusal;
    /** The names and aliases of the gateway's models. */
    MODELS?: readonly string[];
    /** The caller's key; missing without a valid one, and from the previous release. */
    OWNER?: KeyOwner;
  };
  Variables: { gateway: ApiClient };
}

export type AppContext = Context<AppEnv>;

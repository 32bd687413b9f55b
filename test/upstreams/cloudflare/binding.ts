/** The Worker behind the `AI` binding of tests: `run` and `models` over RPC, in front of the emulated REST API. Locally the real binding needs a login. */

import { providerKeys } from "../keys.ts";

/** Errors as the binding throws them: "NNNN: text". Hosted models answer without the API's envelope. */
const script = `
import { WorkerEntrypoint } from "cloudflare:workers";
const account = "https://api.cloudflare.com/client/v4/accounts/${providerKeys.WORKERS_AI_ACCOUNT_ID}/ai";
export class AI extends WorkerEntrypoint {
  async models(params) {
    const headers = { authorization: "Bearer ${providerKeys.WORKERS_AI_API_TOKEN}", "x-emulator-door": "binding" };
    const response = await fetch(account + "/models/search?" + new URLSearchParams(params), { headers });
    return (await response.json()).result;
  }
  async run(model, input, { gateway } = {}) {
    const response = await fetch(account + "/run", {
      method: "POST",
      headers: {
        "content-type": "application/json",
        authorization: "Bearer ${providerKeys.WORKERS_AI_API_TOKEN}",
        "x-emulator-door": "binding",
        ...(gateway && { "cf-aig-gateway-id": gateway.id }),
        ...(gateway?.skipCache && { "cf-aig-skip-cache": "true" }),
      },
      body: JSON.stringify({ model, input }),
    });
    const type = response.headers.get("content-type") ?? "";
    if (response.ok && !type.startsWith("application/json")) return response.body;
    const body = await response.json();
    const { code, message } = body.errors?.[0] ?? body.error ?? {};
    // The third-party path puts the class's name before the number.
    if (!response.ok || body.success === false) throw new Error((gateway ? "AiGatewayError: " : "") + code + ": " + message);
    return model.startsWith("@cf/") ? body.result : body;
  }
}
export default {};
`;

export const aiWorker = (outboundService: unknown) => ({
  name: "emulated-ai",
  modules: true as const,
  script,
  compatibilityDate: "2026-10-20",
  outboundService,
});

export const aiBinding = { name: "emulated-ai", entrypoint: "AI" };

/** The Worker behind the `AI` binding of tests: `run` over RPC, in front of the emulated REST API. Locally the real binding needs a login. */

import { providerKeys } from "../keys.ts";

/** Errors as the binding throws them: "NNNN: text". Hosted models answer without the API's envelope. */
const script = `
import { WorkerEntrypoint } from "cloudflare:workers";
export class AI extends WorkerEntrypoint {
  async run(model, input, { gateway } = {}) {
    const response = await fetch("https://api.cloudflare.com/client/v4/accounts/${providerKeys.WORKERS_AI_ACCOUNT_ID}/ai/run", {
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

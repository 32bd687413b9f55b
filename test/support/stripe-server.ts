/** Stripe in memory on a port of this machine, for whole gateways: its API, and the page on which people pay. */

import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import { StripeEmulator } from "./stripe.ts";

/** The gateway's secrets for this Stripe. */
export const stripeKeys = { STRIPE_SECRET_KEY: "sk_test_key", STRIPE_WEBHOOK_SECRET: "whsec_test_secret" };

export interface StripeServer {
  stripe: StripeEmulator;
  /** The variables of a gateway that pays here. */
  env: typeof stripeKeys & { STRIPE_BASE_URL: string };
  close(): void;
}

/** Starts it; `answer` sees each request first, and may answer it. */
export async function startStripe(answer?: (request: Request) => Promise<Response | undefined>): Promise<StripeServer> {
  const stripe = new StripeEmulator();
  const fetch = async (request: Request) => (await answer?.(request)) ?? stripe.fetch(request);
  const server = serve({ fetch, hostname: "127.0.0.1", port: 0 });
  await new Promise<void>((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  return { stripe, env: { ...stripeKeys, STRIPE_BASE_URL: `http://127.0.0.1:${port}` }, close: () => void server.close() };
}

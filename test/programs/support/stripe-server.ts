/** Stripe in memory on a port of this machine, for whole gateways: its API, and the page on which people pay or store a card. */

import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import { StripeEmulator } from "../../support/stripe.ts";

/** The gateway's secrets for this Stripe. */
const keys = { STRIPE_SECRET_KEY: "sk_test_key", STRIPE_WEBHOOK_SECRET: "whsec_test_secret" };

export interface StripeServer {
  stripe: StripeEmulator;
  /** The variables of a gateway that pays here. */
  env: typeof keys & { STRIPE_BASE_URL: string };
  /** From now on what happens on its pages is sent to this webhook before the person returns; otherwise tests deliver the events. */
  sendEventsTo(webhook: string): void;
  close(): void;
}

const title = "Stripe";
const toPage = (content: string) =>
  new Response(`<!doctype html><html lang="en"><title>${title}</title><main><h1>${title}</h1>${content}</main>`, {
    headers: { "content-type": "text/html" },
  });

/** Starts it; `answer` sees each request first, and may answer it. */
export async function startStripe(answer?: (request: Request) => Promise<Response | undefined>): Promise<StripeServer> {
  const stripe = new StripeEmulator();
  let webhook: string | undefined;

  /** Stripe's page of a session: its button pays, or stores a card; then a link leads back. */
  async function openPage(method: string, id: string): Promise<Response> {
    const session = stripe.sessions.get(id);
    if (!session) return new Response(null, { status: 404 });
    const isPayment = session["mode"] === "payment";
    if (method === "GET") return toPage(`<form method="post"><button>${isPayment ? "Pay" : "Save card"}</button></form>`);
    if (isPayment) stripe.pay(id);
    else stripe.storeCard(id);
    for (const event of webhook === undefined ? [] : stripe.events.splice(0)) {
      const { body, signature } = await stripe.sign(event);
      await fetch(webhook!, { method: "POST", body, headers: { "stripe-signature": signature } });
    }
    return toPage(`<a href="${String(session["success_url"])}">Return</a>`);
  }

  const server = serve({
    fetch: async (request) => {
      const [, id] = /^\/c\/pay\/(\w+)$/.exec(new URL(request.url).pathname) ?? [];
      return id ? openPage(request.method, id) : ((await answer?.(request)) ?? stripe.fetch(request));
    },
    hostname: "127.0.0.1",
    port: 0,
  });
  await new Promise<void>((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    stripe,
    env: { ...keys, STRIPE_BASE_URL: `http://127.0.0.1:${port}` },
    sendEventsTo: (to) => void (webhook = to),
    close: () => void server.close(),
  };
}

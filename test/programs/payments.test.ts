/** Paying at a whole gateway: the payments Worker of `npm start`, with Stripe in memory on a port of this machine. */

import { mkdtemp, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serve } from "@hono/node-server";
import { expect, test } from "vitest";
import { startGateway } from "../../scripts/support/gateway.ts";
import { StripeEmulator } from "../support/stripe.ts";

const keys = { STRIPE_SECRET_KEY: "sk_test_key", STRIPE_WEBHOOK_SECRET: "whsec_test_secret" };

test("an order by the API, the payment, its event: the balance rises once", async () => {
  const stripe = new StripeEmulator();
  const server = serve({ fetch: (request) => stripe.fetch(request), hostname: "127.0.0.1", port: 0 });
  await new Promise<void>((resolve) => server.once("listening", resolve));
  const stateDir = await mkdtemp(join(tmpdir(), "gateway-payments-"));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const gateway = await startGateway({ stateDir, quiet: true, env: { ...keys, STRIPE_BASE_URL: address } });
  try {
    const authorization = `Bearer ${gateway.apiKey}`;
    const post = (path: string, body: string, headers: Record<string, string>) =>
      fetch(gateway.baseUrl + path, { method: "POST", body, headers: { "content-type": "application/json", ...headers } });
    const balance = async () => {
      const answer = await fetch(`${gateway.baseUrl}/v1/user/balance`, { headers: { authorization } });
      return ((await answer.json()) as { remain_balance: number }).remain_balance;
    };
    const before = await balance();
    const ordered = await post("/v1/payments", '{"amount": 25}', { authorization });
    const { url } = (await ordered.json()) as { url: string };
    expect([ordered.status, url]).toEqual([201, expect.stringContaining("https://checkout.stripe.com/")]);
    stripe.pay(url.split("/").at(-1) ?? "");
    for (const event of [...stripe.events, ...stripe.events]) {
      const { body, signature } = await stripe.sign(event);
      expect((await post("/payments/stripe", body, { "stripe-signature": signature })).status).toBe(200);
    }
    expect(await balance()).toBe(before + 25);
    expect((await post("/payments/stripe", "{}", { "stripe-signature": "t=1,v1=00" })).status).toBe(400);
  } finally {
    await gateway.stop();
    server.close();
    await rm(stateDir, { recursive: true, force: true });
  }
});

/** Paying at a whole gateway: the payments Worker of `npm start`, with Stripe in memory on a port of this machine. */

import { mkdtemp, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serve } from "@hono/node-server";
import { expect, test } from "vitest";
import { type Gateway, startGateway } from "../../scripts/support/gateway.ts";
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

test("the whole gateway is killed while it settles a refund: after a restart the payment and the refund count once", async () => {
  const stripe = new StripeEmulator();
  const held = Promise.withResolvers<void>();
  let isHeld = false;
  const server = serve({
    fetch: (request) => {
      // The gateway looks for the payment of the refund: it is killed before it gets an answer.
      if (isHeld || request.method !== "GET" || !new URL(request.url).pathname.startsWith("/v1/payment_intents/"))
        return stripe.fetch(request);
      isHeld = true;
      held.resolve();
      return new Promise<Response>(() => undefined);
    },
    hostname: "127.0.0.1",
    port: 0,
  });
  await new Promise<void>((resolve) => server.once("listening", resolve));
  const stateDir = await mkdtemp(join(tmpdir(), "gateway-payments-"));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const options = { stateDir, quiet: true, env: { ...keys, STRIPE_BASE_URL: address } };
  const ask = async (gateway: Gateway, path: string, body?: string, headers: Record<string, string> = {}) => {
    const authorization = `Bearer ${gateway.apiKey}`;
    const answer = await fetch(gateway.baseUrl + path, {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization, "content-type": "application/json", ...headers },
      ...(body !== undefined && { body }),
    });
    return { status: answer.status, body: (await answer.json()) as { remain_balance: number; url: string } };
  };
  const send = async (gateway: Gateway, event: object) => {
    const { body, signature } = await stripe.sign(event);
    return (await ask(gateway, "/payments/stripe", body, { "stripe-signature": signature })).status;
  };
  let gateway = await startGateway(options);
  try {
    const before = (await ask(gateway, "/v1/user/balance")).body.remain_balance;
    const { url } = (await ask(gateway, "/v1/payments", '{"amount": 25}')).body;
    const intent = stripe.pay(url.split("/").at(-1) ?? "");
    stripe.refund(intent.id, 500);
    const refund = stripe.events.find(({ type }) => type === "refund.created")!;
    const lost = send(gateway, refund).catch(() => "killed");
    await held.promise;
    await gateway.kill();
    expect(await lost).not.toBe(200);
    gateway = await startGateway(options);
    for (const event of [refund, ...stripe.events, ...stripe.events]) expect(await send(gateway, event)).toBe(200);
    expect((await ask(gateway, "/v1/user/balance")).body.remain_balance).toBe(before + 20);
  } finally {
    await gateway.stop();
    server.close();
    await rm(stateDir, { recursive: true, force: true });
  }
});

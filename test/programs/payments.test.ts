/** Paying at a whole gateway: the payments Worker of `npm start`, with Stripe in memory on a port of this machine. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Gateway, startGateway } from "../../scripts/support/gateway.ts";
import { startStripe } from "./support/stripe-server.ts";

test("an order by the API, the payment, its event: the balance rises once", async () => {
  const server = await startStripe();
  const { stripe, env } = server;
  const stateDir = await mkdtemp(join(tmpdir(), "gateway-payments-"));
  const gateway = await startGateway({ stateDir, quiet: true, env });
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
  const held = Promise.withResolvers<void>();
  let isHeld = false;
  const server = await startStripe(async (request) => {
    // The gateway looks for the payment of the refund: it is killed before it gets an answer.
    if (isHeld || request.method !== "GET" || !new URL(request.url).pathname.startsWith("/v1/payment_intents/")) return undefined;
    isHeld = true;
    held.resolve();
    return new Promise<Response>(() => undefined);
  });
  const { stripe, env } = server;
  const stateDir = await mkdtemp(join(tmpdir(), "gateway-payments-"));
  const options = { stateDir, quiet: true, env };
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

/** A gateway that takes payments: the payments Worker with its secrets, in front of Stripe in memory. */

import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { vi } from "vitest";
import { type Desk, openStripe } from "../../src/payments/stripe.ts";
import Payments from "../../src/payments/worker.ts";
import { PaymentObjects } from "../../src/rpc/payment-objects.ts";
import type { TopUpAnswer, TopUpOrder } from "../../src/rpc/payments.ts";
import { type Account, type Answer, call, newAccount } from "../support/gateway.ts";
import { StripeEmulator, type StripeEvent } from "../support/stripe.ts";

const keys = { STRIPE_SECRET_KEY: "sk_test_key", STRIPE_WEBHOOK_SECRET: "whsec_test_secret" };

export class Shop {
  readonly stripe = new StripeEmulator();
  readonly #vars: Partial<PaymentsBindings>;

  constructor(vars: Partial<PaymentsBindings> = {}) {
    this.#vars = vars;
    vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => this.stripe.fetch(new Request(input, init)));
  }

  /** Stripe's answers, for faults. */
  get answers() {
    return this.stripe as unknown as Record<string, (...values: unknown[]) => Promise<unknown>>;
  }

  /** The Worker behind the gateway. */
  get worker(): NonNullable<Env["PAYMENTS"]> {
    return new Payments(createExecutionContext(), this.#env);
  }

  get #env(): PaymentsBindings {
    return { ...env, ...keys, ...this.#vars };
  }

  /** What a step of the cron trigger works with. */
  desk(vars: Partial<Env> = {}): Desk {
    return { db: env.DB, stripe: openStripe(this.#env)!, wallets: new PaymentObjects({ WALLETS: env.WALLETS, ...vars }) };
  }

  /** The variables of a gateway that is bound to it. */
  get vars() {
    return { PAYMENTS: this.worker };
  }

  order(account: Pick<Account, "key">, amount: unknown): Promise<Answer> {
    return call("/v1/payments", { key: account.key, body: { amount }, vars: this.vars });
  }

  /** Orders and pays; the events are not delivered yet. Returns the payment intent. */
  async pay(account: Pick<Account, "key">, amount: number) {
    const { body, status } = await this.order(account, amount);
    if (status !== 201) throw new Error(JSON.stringify(body));
    return this.stripe.pay((body.url as string).split("/").at(-1)!);
  }

  /** Sends an event to the webhook as Stripe does. */
  async send(event: StripeEvent, at?: number): Promise<Answer> {
    const { body, signature } = await this.stripe.sign(event, at);
    return this.post(body, signature);
  }

  post(body: string, signature: string | undefined): Promise<Answer> {
    return call("/payments/stripe", { body, headers: signature === undefined ? {} : { "stripe-signature": signature }, vars: this.vars });
  }

  /** Delivers every event in the order of Stripe. */
  async deliver(): Promise<void> {
    for (const event of this.stripe.events.splice(0)) {
      const { status, body } = await this.send(event);
      if (status !== 200) throw new Error(`${event.type}: ${status} ${JSON.stringify(body)}`);
    }
  }

  /** A run of the cron trigger. */
  run(vars: Partial<Env> = {}): Promise<void> {
    return this.worker.run(new PaymentObjects({ WALLETS: env.WALLETS, ...vars }));
  }

  /** Changes automatic top-up as the console does. */
  change(order: TopUpOrder): Promise<TopUpAnswer> {
    return this.worker.changeTopUp(order, { kind: "user", id: "u1", address: null }, new PaymentObjects({ WALLETS: env.WALLETS }));
  }

  /** Switches automatic top-up on (amounts in balance units), and stores a card. */
  async topUp({ id }: Account, settings = { threshold: 5, amount: 10, ceiling: 30 }, bank?: Parameters<StripeEmulator["storeCard"]>[1]) {
    const millionths = Object.fromEntries(Object.entries(settings).map(([name, units]) => [name, 1e6 * units])) as typeof settings;
    const order = { accountId: id, settings: millionths, wantsCard: false, returnUrl: "https://gateway.example/console/billing" };
    const answer = await this.change(order);
    if (!("url" in answer) || answer.url === undefined) return answer;
    this.stripe.storeCard(answer.url.split("/").at(-1) ?? "", bank);
    await this.deliver();
    return answer;
  }
}

/** A shop, and an account with this quota. */
export const shopWith = async (quota: number | null) => ({ shop: new Shop(), account: await newAccount(quota) });

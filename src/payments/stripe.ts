/** The client of Stripe's API. */

import { Stripe } from "stripe";
import type { PaymentObjects } from "../rpc/payment-objects.ts";
import { readBaseUrl } from "../base/variables.ts";

const timeoutMs = 20_000;

/** The client for one call; undefined without a key: then nothing can be paid. */
export function openStripe({ STRIPE_SECRET_KEY: key, STRIPE_BASE_URL: address }: PaymentsBindings): Stripe | undefined {
  if (!key) return undefined;
  const base = readBaseUrl("STRIPE_BASE_URL", address);
  const url = base === undefined ? undefined : new URL(base);
  return new Stripe(key, {
    httpClient: Stripe.createFetchHttpClient(),
    timeout: timeoutMs,
    // Each repeat of the client has the idempotency key of the first request.
    maxNetworkRetries: 1,
    telemetry: false,
    ...(url && {
      host: url.hostname,
      port: url.port || (url.protocol === "http:" ? 80 : 443),
      protocol: url.protocol === "http:" ? "http" : "https",
    }),
  });
}

/** The id of an object that an answer names or contains. */
export const idOf = (value: string | { id: string } | null | undefined): string | undefined =>
  value === null || value === undefined ? undefined : typeof value === "string" ? value : value.id;

/** True if Stripe does not know an object that the request named, such as one that was deleted, or made with the key of the test mode. */
export const isMissing = (error: unknown): boolean => (error as { code?: string }).code === "resource_missing";

/** Rethrows an error, unless Stripe does not know an object: then there is no answer. */
export function orMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error;
}

/** The charge of a payment intent, as Stripe has it now; undefined before there is one. */
export async function findCharge(stripe: Stripe, intentId: string, options?: Stripe.RequestOptions): Promise<Stripe.Charge | undefined> {
  const { latest_charge: charge } = await stripe.paymentIntents.retrieve(intentId, { expand: ["latest_charge"] }, options);
  return charge && typeof charge !== "string" ? charge : undefined;
}

/** What every step needs. `credit` moves the quota in the account's wallet. */
export interface Desk {
  db: Env["DB"];
  stripe: Stripe;
  wallets: PaymentObjects;
}

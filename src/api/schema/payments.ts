/** Schemas of answers about payments. */

import * as z from "zod/mini";
import { amount, time } from "./shared.ts";

/** A page of Stripe on which a person pays. */
export const paymentSession = z.strictObject({
  object: z.literal("payment"),
  id: z.string(),
  amount: amount.check(z.describe("What it adds to the quota, in balance units.")),
  url: z.url().check(z.describe("Stripe's page.")),
  created_at: time,
  expires_at: time.check(z.describe("Until when the page can be used.")),
});

export const stripeReceived = z.strictObject({ received: z.literal(true) });

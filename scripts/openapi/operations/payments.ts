/** Paying: a page of Stripe for the account, and Stripe's webhook. */

import { paymentSession, stripeReceived } from "../../../src/api/schema/payments.ts";
import { newPayment } from "../../../src/api/schema/bodies.ts";
import { answer, tagged } from "../definition.ts";

export const payments = tagged("account", {
  "POST /v1/payments": {
    id: "createPayment",
    summary: "Open a page to top up",
    description:
      "Returns the address of a page of Stripe on which a person pays. The balance rises when the payment has succeeded, also if it takes days. For keys of owners and admins, and keys that belong to the account. 404 where the operator takes no payments.",
    body: { schema: newPayment(), examples: { fifty: { amount: 50 } } },
    answers: {
      201: answer("The page.", paymentSession, {
        session: {
          object: "payment",
          id: "pay_5XwqT0aL2mQe9RbYc7UdKz",
          amount: 50,
          url: "https://checkout.stripe.com/c/pay/cs_live_a1B2c3",
          created_at: 1_795_305_600,
          expires_at: 1_795_392_000,
        },
      }),
    },
    errors: ["not_found"],
    violation: { param: "amount", rule: "not_between", values: { min: 5, max: 2000 } },
  },
  "POST /payments/stripe": {
    id: "receiveStripeEvent",
    tag: "service",
    summary: "Receive an event of Stripe",
    description:
      "The endpoint of Stripe's webhook, for Stripe alone: the signature in `Stripe-Signature` admits. An event takes effect once. Any answer other than 200 makes Stripe send the event again.",
    security: "none",
    answers: { 200: answer("The event has taken effect.", stripeReceived, { received: { received: true } }) },
    errors: ["invalid_request", "not_found", "invalid_json", "body_too_slow", "body_too_large"],
    violation: { param: "stripe-signature", rule: "bad_stripe_signature" },
  },
});

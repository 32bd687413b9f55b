/** `POST /payments/stripe`: the webhook of Stripe. Not for API callers: the signature of the body admits. */

import { ApiError, invalid } from "../base/errors.ts";
import { PaymentObjects } from "../rpc/payment-objects.ts";
import { answerPlain } from "./request/answer.ts";
import { readText } from "./request/body.ts";
import type { AppContext } from "./request/context.ts";

const header = "stripe-signature";

/** Answers 200 once the event has taken effect; 400 for a forged or old signature. After any other answer Stripe sends the event again. */
export async function receiveStripeEvent(c: AppContext): Promise<Response> {
  const { PAYMENTS } = c.env;
  const signature = c.req.header(header);
  if (!PAYMENTS || !signature) {
    await c.req.raw.body?.cancel();
    throw PAYMENTS ? invalid(header, "bad_stripe_signature") : new ApiError("not_found");
  }
  const body = await readText(c);
  const outcome = await PAYMENTS.event(new PaymentObjects(c.env), body, signature).catch((cause: unknown) => {
    throw new ApiError("unavailable", { cause });
  });
  if (outcome === "off") throw new ApiError("not_found");
  if (outcome === "bad_signature") throw invalid(header, "bad_stripe_signature");
  return answerPlain(c, { received: true });
}

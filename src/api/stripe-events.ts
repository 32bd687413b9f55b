/** `POST /payments/stripe`: the webhook of Stripe. Not for API callers: the signature of the body admits. */

import { ApiError, invalid } from "../base/errors.ts";
import { PaymentObjects } from "../rpc/payment-objects.ts";
import { answerPlain } from "./request/answer.ts";
import { readText } from "./request/body.ts";
import type { AppContext } from "./request/context.ts";

const header = "stripe-signature";
/** Seconds that a signature may be old; the payments Worker checks it again. */
const toleranceS = 300;

/** Answers 200 once the event has taken effect; 400 for a forged or old signature. After any other answer Stripe sends the event again. */
export async function receiveStripeEvent(c: AppContext): Promise<Response> {
  const { PAYMENTS } = c.env;
  const signature = c.req.header(header) ?? "";
  // Everyone can send here, so a body is read only if it may be accepted. An event without a body is never valid: its outcome only says whether Stripe's keys are set.
  const isOff = !PAYMENTS || (await send(c, PAYMENTS, "", signature)) === "off";
  if (isOff || !isRecentSignature(signature)) {
    await c.req.raw.body?.cancel();
    throw isOff ? new ApiError("not_found") : invalid(header, "bad_stripe_signature");
  }
  const outcome = await send(c, PAYMENTS, await readText(c), signature);
  if (outcome === "off") throw new ApiError("not_found");
  if (outcome === "bad_signature") throw invalid(header, "bad_stripe_signature");
  return answerPlain(c, { received: true });
}

const send = (c: AppContext, payments: NonNullable<Env["PAYMENTS"]>, body: string, signature: string) =>
  payments.event(new PaymentObjects(c.env), body, signature).catch((cause: unknown) => {
    throw new ApiError("unavailable", { cause });
  });

/** True for a text in the form of Stripe's signatures (`t=1700000000,v1=...`) of the last minutes. */
function isRecentSignature(signature: string): boolean {
  const signedAt = /^t=(\d+),(?:.*,)?v1=[0-9a-f]{64}/.exec(signature)?.[1];
  return signedAt !== undefined && Date.now() / 1000 - Number(signedAt) <= toleranceS;
}

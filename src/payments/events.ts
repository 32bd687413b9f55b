/** Events of Stripe's webhook: their signatures, and what each does. An event is handled at most once; one that failed is sent again by Stripe. */

import type { Stripe } from "stripe";
import { type Change, isHandled, setExpired, writeEvent } from "../db/payments.ts";
import { readPurpose } from "./purpose.ts";
import { settleDispute, settlePaid, settleRefund } from "./settle.ts";
import type { Desk } from "./stripe.ts";
import { storeMethod } from "./top-up.ts";

/** Seconds that a signature may be old. Stripe signs each attempt anew. */
const toleranceS = 300;

/** The event of a body as it was sent; undefined if no secret has signed it within the last minutes, or if it is of Stripe's test mode and the key of the live one, or the other way round. */
export async function readEvent(
  stripe: Stripe,
  { STRIPE_SECRET_KEY: key = "", STRIPE_WEBHOOK_SECRET: secret, STRIPE_WEBHOOK_SECRET_OLD: old }: PaymentsBindings,
  body: string,
  signature: string,
): Promise<Stripe.Event | undefined> {
  // A secret of the test mode may be left behind, and payments there cost nothing.
  const isLive = !/^[a-z]+_test_/.test(key);
  for (const one of [secret, old])
    if (one) {
      const event = await stripe.webhooks.constructEventAsync(body, signature, one, toleranceS).catch(() => undefined);
      if (event?.livemode === isLive) return event;
    }
  return undefined;
}

/** Does what the event says, and notes it with the event. Throws if a storage, a wallet or Stripe does not answer: the repeat continues. */
export async function handleEvent(desk: Desk, event: Stripe.Event): Promise<void> {
  if (await isHandled(desk.db, event.id)) return;
  await writeEvent(desk.db, event.id, Date.now(), await settle(desk, event));
}

async function settle(desk: Desk, event: Stripe.Event): Promise<Change[]> {
  switch (event.type) {
    case "payment_intent.succeeded":
      return settlePaid(desk, event.data.object);
    case "checkout.session.expired": {
      const purpose = readPurpose(event.data.object.metadata);
      return purpose ? [setExpired(desk.db, purpose.paymentId)] : [];
    }
    case "setup_intent.succeeded":
      return storeMethod(desk, event.data.object);
    case "refund.created":
    case "refund.updated":
    case "refund.failed":
      return settleRefund(desk, event.data.object);
    case "charge.dispute.created":
    case "charge.dispute.updated":
    case "charge.dispute.closed":
    case "charge.dispute.funds_withdrawn":
    case "charge.dispute.funds_reinstated":
      return settleDispute(desk, event.data.object);
    default:
      return [];
  }
}

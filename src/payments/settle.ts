/**
 * What a payment, a refund or a dispute does to an account. The wallet moves the quota first, once for each cause (`payment:pi_1`, `refund:re_1`,
 * `dispute:dp_1`, `returned:dp_1`); the returned statements only note it in D1. Every step may be repeated after a crash and run in any order.
 */

import type { Stripe } from "stripe";
import { hasAccount } from "../db/accounts.ts";
import type { Credit } from "../db/credits.ts";
import { type Change, findPaid, type Payment, type PaymentReturn, setPaid, setReturn, writeChanges } from "../db/payments.ts";
import { pauseForDispute } from "../db/top-ups.ts";
import { log } from "../base/log.ts";
import { readPurpose } from "./purpose.ts";
import { type Desk, findCharge, idOf } from "./stripe.ts";
import { share } from "./units.ts";

/** Credits a payment intent that succeeded. Nothing for other intents, and for those of another deployment or product. */
export async function settlePaid({ db, stripe, wallets }: Desk, intent: Stripe.PaymentIntent): Promise<Change[]> {
  const purpose = readPurpose(intent.metadata);
  const received = intent.amount_received;
  if (!purpose || intent.status !== "succeeded" || received <= 0) return [];
  const { accountId, paymentId, isAutomatic = false } = purpose;
  if (!(await hasAccount(db, accountId))) {
    log("payment", { account: accountId, outcome: "unknown_account", intent: intent.id });
    return [];
  }
  const amount = share(purpose.amount, received, purpose.money);
  const at = Date.now();
  const credit: Credit = { id: `payment:${intent.id}`, kind: "payment", amount, at, reason: null };
  const outcome = await wallets.credit(accountId, credit);
  log("payment", { account: accountId, outcome, intent: intent.id });
  const createdAt = 1000 * intent.created;
  // Only shown: a payment counts without it.
  const card = await findCharge(stripe, intent.id, { timeout: 5_000, maxNetworkRetries: 0 }).then(toCard, () => null);
  return [
    setPaid(db, {
      id: paymentId,
      accountId,
      createdAt,
      money: received,
      currency: intent.currency,
      amount,
      intentId: intent.id,
      paidAt: at,
      isAutomatic,
      card,
    }),
  ];
}

/** `Visa 4242`; null if no card paid. */
function toCard(charge: Stripe.Charge | undefined): string | null {
  const { brand, last4 } = charge?.payment_method_details?.card ?? {};
  return brand && last4 ? `${brand.replace(/^./, (letter) => letter.toUpperCase())} ${last4}` : null;
}

/** The paid payment of an intent, which is credited first if its own event has not arrived yet; undefined if it is not ours. */
async function findOrSettle(desk: Desk, intentId: string): Promise<Payment | undefined> {
  const known = await findPaid(desk.db, intentId);
  if (known) return known;
  await writeChanges(desk.db, await settlePaid(desk, await desk.stripe.paymentIntents.retrieve(intentId)));
  return findPaid(desk.db, intentId);
}

/** The state of a refund or dispute as far as the balance is concerned; undefined if it has taken nothing. */
export const refundState = ({ status }: Stripe.Refund): PaymentReturn["state"] =>
  status === "failed" || status === "canceled" ? "returned" : "taken";

/** An inquiry (`warning_...`) takes no money, nor does a dispute that a refund prevented. */
export function disputeState({ status }: Stripe.Dispute): PaymentReturn["state"] | undefined {
  if (status.startsWith("warning_") || status === "prevented") return undefined;
  return status === "won" ? "returned" : "taken";
}

export const settleRefund = (desk: Desk, refund: Stripe.Refund): Promise<Change[]> =>
  settleReturn(desk, idOf(refund.payment_intent), { id: refund.id, kind: "refund", money: refund.amount, state: refundState(refund) });

export async function settleDispute(desk: Desk, dispute: Stripe.Dispute): Promise<Change[]> {
  const state = disputeState(dispute);
  if (!state) return [];
  return settleReturn(desk, idOf(dispute.payment_intent), { id: dispute.id, kind: "dispute", money: dispute.amount, state });
}

/**
 * Debits what was taken, and credits it again if it came back. Both for what came back, also if the first event has not arrived yet: it
 * changes nothing then, and the sum is right whatever the order.
 */
async function settleReturn(
  desk: Desk,
  intentId: string | undefined,
  { id, kind, money, state }: Omit<PaymentReturn, "paymentId">,
): Promise<Change[]> {
  if (intentId === undefined || money <= 0) return [];
  const payment = await findOrSettle(desk, intentId);
  if (!payment) return [];
  const { id: paymentId, accountId } = payment;
  const at = Date.now();
  const amount = share(payment.amount, Math.min(money, payment.money), payment.money);
  await desk.wallets.credit(accountId, { id: `${kind}:${id}`, kind, amount: -amount, at, reason: null });
  if (state === "returned") await desk.wallets.credit(accountId, { id: `returned:${id}`, kind: "returned", amount, at, reason: null });
  log("payment", { account: accountId, outcome: `${kind}_${state}`, intent: intentId, cause: id });
  return [
    // Whoever disputes payments does not want more of them.
    ...(kind === "dispute" ? pauseForDispute(desk.db, accountId, id, at) : []),
    setReturn(desk.db, { id, paymentId, kind, money, state }, at),
  ];
}

/** The payments Worker: Stripe's Checkout, webhook and portal. The gateway calls it over its binding; `wallets` may be used until a call returns. What each method does: `rpc/payments.ts`. */

import { WorkerEntrypoint } from "cloudflare:workers";
import type { Actor } from "../db/audit-log.ts";
import { findCustomer, findPayment } from "../db/payments.ts";
import { findTopUp } from "../db/top-ups.ts";
import type { PaymentObjects } from "../rpc/payment-objects.ts";
import type {
  CheckoutAnswer,
  CheckoutOrder,
  EventOutcome,
  PaymentOptions,
  PaymentsWorker,
  StoredCard,
  TopUpAnswer,
  TopUpOrder,
} from "../rpc/payments.ts";
import { openCheckout, withCustomer } from "./checkout.ts";
import { handleEvent, readEvent } from "./events.ts";
import { deleteErased, reconcile } from "./reconcile.ts";
import { findCharge, openStripe } from "./stripe.ts";
import { changeTopUp, runTopUps } from "./top-up.ts";
import { makesInvoices, readTariff, takesPayments } from "./units.ts";

export default class Payments extends WorkerEntrypoint<PaymentsBindings> implements PaymentsWorker {
  async options(accountId: string): Promise<PaymentOptions | undefined> {
    if (!this.env.STRIPE_SECRET_KEY) return undefined;
    const { currency, perCent, min, max, offered } = readTariff(this.env);
    const sums = takesPayments(this.env) ? offered.map((money) => money * perCent) : [];
    const amounts = { min: min * perCent, max: max * perCent, offered: sums };
    return { currency, perCent, ...amounts, hasCustomer: (await findCustomer(this.env.DB, accountId)) !== undefined };
  }

  async checkout(order: CheckoutOrder): Promise<CheckoutAnswer> {
    const stripe = openStripe(this.env);
    if (!stripe || !takesPayments(this.env)) return { refused: "off" };
    return openCheckout({ db: this.env.DB, stripe }, readTariff(this.env), order, makesInvoices(this.env));
  }

  async changeTopUp(order: TopUpOrder, by: Actor, wallets: PaymentObjects): Promise<TopUpAnswer> {
    const stripe = openStripe(this.env);
    if (!stripe || (order.settings && !takesPayments(this.env))) return { refused: "off" };
    return changeTopUp({ db: this.env.DB, stripe, wallets }, readTariff(this.env), order, by);
  }

  async event(wallets: PaymentObjects, body: string, signature: string): Promise<EventOutcome> {
    const { env } = this;
    const stripe = openStripe(env);
    if (!stripe) return "off";
    const event = await readEvent(stripe, env, body, signature);
    if (!event) return "bad_signature";
    await handleEvent({ db: env.DB, stripe, wallets }, event);
    return "handled";
  }

  async receipt(accountId: string, paymentId: string): Promise<string | undefined> {
    const stripe = openStripe(this.env);
    const payment = await findPayment(this.env.DB, accountId, paymentId);
    if (!stripe || !payment?.intentId) return undefined;
    if (payment.sessionId) {
      const { invoice } = await stripe.checkout.sessions.retrieve(payment.sessionId, { expand: ["invoice"] });
      if (invoice && typeof invoice !== "string" && invoice.invoice_pdf) return invoice.invoice_pdf;
    }
    return (await findCharge(stripe, payment.intentId))?.receipt_url ?? undefined;
  }

  async card(accountId: string): Promise<StoredCard | undefined> {
    const stripe = openStripe(this.env);
    const method = (await findTopUp(this.env.DB, accountId, Date.now()))?.methodId;
    if (!stripe || !method) return undefined;
    const { card } = await stripe.paymentMethods.retrieve(method);
    return card ? { brand: card.brand, last4: card.last4 } : undefined;
  }

  async portal(accountId: string, returnUrl: string): Promise<string | undefined> {
    const stripe = openStripe(this.env);
    if (!stripe || (await findCustomer(this.env.DB, accountId)) === undefined) return undefined;
    const create = (customer: string) => stripe.billingPortal.sessions.create({ customer, return_url: returnUrl });
    return (await withCustomer({ db: this.env.DB, stripe }, accountId, create))?.url;
  }

  async run(wallets: PaymentObjects): Promise<void> {
    const stripe = openStripe(this.env);
    if (!stripe) return;
    const desk = { db: this.env.DB, stripe, wallets };
    const failed = (await Promise.allSettled([runTopUps(desk, this.env), reconcile(desk, Date.now()), deleteErased(desk)])).find(
      ({ status }) => status === "rejected",
    );
    if (failed?.status === "rejected") throw failed.reason;
  }
}

/** What the payments Worker is asked, and its answers, as values. Its methods are in `payments/worker.ts`. */

import type { Actor } from "../db/audit-log.ts";
import type { PaymentObjects } from "./payment-objects.ts";

/** The payments Worker. An interface of its own: the types of Stripe's client would bring those of Node into every Worker. */
export interface PaymentsWorker {
  /** What an account can pay; undefined if STRIPE_SECRET_KEY is not set. */
  options(accountId: string): Promise<PaymentOptions | undefined>;
  /** Opens a page of Stripe on which a person pays. */
  checkout(order: CheckoutOrder): Promise<CheckoutAnswer>;
  /** Sets automatic top-up, or switches it off. */
  changeTopUp(order: TopUpOrder, by: Actor, wallets: PaymentObjects): Promise<TopUpAnswer>;
  /** Handles a request of Stripe's webhook: its body as it was sent, and its signature. Throws if it could not be handled: Stripe sends it again. */
  event(wallets: PaymentObjects, body: string, signature: string): Promise<EventOutcome>;
  /** The address of a payment's invoice or receipt at Stripe; undefined if it has none. */
  receipt(accountId: string, paymentId: string): Promise<string | undefined>;
  /** The card that is stored for automatic top-up, as Stripe has it now; undefined without one. */
  card(accountId: string): Promise<StoredCard | undefined>;
  /** The address of Stripe's portal for the account; undefined before the first payment. */
  portal(accountId: string, returnUrl: string): Promise<string | undefined>;
  /** Every five minutes: automatic top-ups, the daily look at Stripe, and customers of erased accounts. */
  run(wallets: PaymentObjects): Promise<void>;
}

/** A payment that a person makes at Stripe. `amount` in millionths; the page to return to, which gets `?payment=paid` or `cancelled`. */
export interface CheckoutOrder {
  accountId: string;
  amount: number;
  returnUrl: string;
  /** Who pays, for the audit log. */
  by: Actor;
}

/** The session, times in milliseconds; or why not: `step` and the limits are in balance units. */
export type CheckoutAnswer =
  | { id: string; url: string; amount: number; createdAt: number; expiresAt: number; refused?: never }
  | { refused: "step"; step: number }
  | { refused: "range"; min: number; max: number }
  | { refused: "too_many" | "unlimited" | "no_account" | "off" };

/** What the console offers. Amounts in millionths. */
export interface PaymentOptions {
  currency: string;
  /** What a cent of the currency adds. */
  perCent: number;
  min: number;
  max: number;
  /** Empty if nothing new can be paid. */
  offered: number[];
  /** True if the account has paid before, so that Stripe's portal has something to show. */
  hasCustomer: boolean;
}

/** `visa`, `4242`. */
export interface StoredCard {
  brand: string;
  last4: string;
}

/** Automatic top-up of an account: amounts in millionths; null switches it off. `wantsCard`: another card than the stored one. */
export interface TopUpOrder {
  accountId: string;
  settings: { threshold: number; amount: number; ceiling: number } | null;
  wantsCard: boolean;
  returnUrl: string;
}

/** The page of Stripe on which a card is stored, if one is needed; or why nothing was changed: the limits are in balance units. */
export type TopUpAnswer =
  | { url?: string; refused?: never }
  | { refused: "step"; field: "amount" | "ceiling"; step: number }
  | { refused: "range"; field: "threshold" | "amount" | "ceiling"; min: number; max: number }
  | { refused: "unlimited" }
  | { refused: "off" };

/** `off`: payments are not set up. */
export type EventOutcome = "handled" | "bad_signature" | "off";

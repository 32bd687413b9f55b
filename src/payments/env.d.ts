/** Bindings and variables of the payments Worker, typed by hand from its wrangler.toml. */

interface PaymentsBindings {
  DB: D1Database;
  BALANCE_UNIT: string;
  /** With BALANCE_UNIT = "TOKENS": how many tokens a US dollar buys */
  TOKENS_PER_USD?: string;
  /** "on" (default) or "off": nothing new is paid */
  STRIPE_PAYMENTS?: string;
  /** "on" or "off" (default): Stripe makes an invoice for each payment, which it bills */
  STRIPE_INVOICES?: string;
  /** The base URL of Stripe's API without a trailing slash; Stripe's own by default */
  STRIPE_BASE_URL?: string;
  /** Secret: the key of Stripe's API; without it nothing can be paid */
  STRIPE_SECRET_KEY?: string;
  /** Secret: signs the events of the webhook (`whsec_...`) */
  STRIPE_WEBHOOK_SECRET?: string;
  /** Secret: the previous one during a rotation; both are accepted */
  STRIPE_WEBHOOK_SECRET_OLD?: string;
}

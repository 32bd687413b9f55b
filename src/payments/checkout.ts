/** A payment by Stripe Checkout: the account's customer, the payment in D1, the session. Nothing is credited here: the event of the payment intent does that. */

import { countAttempt } from "../db/attempts.ts";
import { accountById, isUnlimited } from "../db/accounts.ts";
import { toUnits } from "../db/ledger.ts";
import { findCustomer, forgetCustomer, insertCustomers, insertPayment, setSession } from "../db/payments.ts";
import { newId } from "../base/ids.ts";
import type { CheckoutAnswer, CheckoutOrder } from "../rpc/payments.ts";
import { type Purpose, toMetadata } from "./purpose.ts";
import { type Desk, isMissing } from "./stripe.ts";
import { type Tariff, toMoney } from "./units.ts";

/** Sessions of an account within an hour. */
const rule = { window: 3600, max: 30 };

/** Opens a session in which a person pays; refused for an amount that cannot be paid. Throws if Stripe or D1 does not answer. */
export async function openCheckout(
  { db, stripe }: Pick<Desk, "db" | "stripe">,
  tariff: Tariff,
  { accountId, amount, returnUrl, by }: CheckoutOrder,
  hasInvoice: boolean,
): Promise<CheckoutAnswer> {
  const { currency, perCent } = tariff;
  const [min, max] = [tariff.min * perCent, tariff.max * perCent];
  if (amount < min || amount > max) return { refused: "range", min: toUnits(min), max: toUnits(max) };
  const money = toMoney(tariff, amount);
  if (money === undefined) return { refused: "step", step: toUnits(perCent) };
  if (await isUnlimited(db, accountId)) return { refused: "unlimited" };
  if (!(await countAttempt(db, `checkout ${accountId}`, rule))) return { refused: "too_many" };
  if ((await customerOf({ db, stripe }, accountId)) === undefined) return { refused: "no_account" };
  const id = newId("pay_");
  const createdAt = Date.now();
  await insertPayment(db, { id, accountId, createdAt, money, currency, amount }, by);
  const purpose: Purpose = { accountId, paymentId: id, money, amount };
  const metadata = toMetadata(purpose);
  const session = await withCustomer({ db, stripe }, accountId, (customer) =>
    stripe.checkout.sessions.create(
      {
        mode: "payment",
        customer,
        client_reference_id: accountId,
        line_items: [{ quantity: 1, price_data: { currency, unit_amount: money, product_data: { name: "Top-up" } } }],
        metadata,
        payment_intent_data: { metadata },
        ...(hasInvoice && {
          invoice_creation: { enabled: true, invoice_data: { metadata } },
          // An invoice names a payer's company, its address and its tax number, which Stripe keeps with the customer for the next one.
          billing_address_collection: "required",
          tax_id_collection: { enabled: true },
          customer_update: { name: "auto", address: "auto" },
        }),
        success_url: returnTo(returnUrl, "paid"),
        cancel_url: returnTo(returnUrl, "cancelled"),
      },
      { idempotencyKey: `${id} ${customer}` },
    ),
  );
  if (!session?.url) throw new Error("Stripe opened a session without a URL");
  await setSession(db, id, session.id);
  return { id, url: session.url, amount, createdAt, expiresAt: 1000 * session.expires_at };
}

/** The page to which Stripe returns. */
export function returnTo(url: string, outcome: "paid" | "stored" | "cancelled"): string {
  const to = new URL(url);
  to.searchParams.set("payment", outcome);
  return to.href;
}

/** What Stripe answers to a request that names the account's customer; undefined if the account does not exist. A customer that Stripe does not know is made again. */
export async function withCustomer<T>(
  desk: Pick<Desk, "db" | "stripe">,
  accountId: string,
  ask: (customer: string) => Promise<T>,
): Promise<T | undefined> {
  const known = await customerOf(desk, accountId);
  if (known === undefined) return undefined;
  try {
    return await ask(known);
  } catch (error) {
    if (!isMissing(error)) throw error;
    await forgetCustomer(desk.db, accountId, known);
  }
  const made = await customerOf(desk, accountId, known);
  return made === undefined ? undefined : ask(made);
}

/** The account's customer at Stripe, made for the first payment or in place of `lost`; undefined if the account does not exist. */
export async function customerOf(
  { db, stripe }: Pick<Desk, "db" | "stripe">,
  accountId: string,
  lost?: string,
): Promise<string | undefined> {
  const known = await findCustomer(db, accountId);
  const account = known === undefined ? await accountById(db, accountId) : undefined;
  if (!account) return known;
  const customer = await stripe.customers.create(
    { email: account.email, ...(account.name && { name: account.name }), metadata: { gateway_account: accountId } },
    // Two first payments at once make one customer. With the address: Stripe refuses a key that comes with other parameters.
    { idempotencyKey: `customer ${accountId} ${lost === undefined ? "" : `${lost} `}${account.email} ${account.name ?? ""}`.slice(0, 255) },
  );
  await insertCustomers(db, [{ accountId, customerId: customer.id }], Date.now());
  return findCustomer(db, accountId);
}

/**
 * Automatic top-up: a payment with the stored card when the balance is below the threshold. One payment is begun in D1 first, and asked of
 * Stripe under its id as the idempotency key, so that a repeat after a crash is the same payment. One that fails pauses top-up until a person acts.
 */

import { hourMs } from "../base/times.ts";
import type { Stripe } from "stripe";
import { isUnlimited } from "../db/accounts.ts";
import type { Actor } from "../db/audit-log.ts";
import { toUnits } from "../db/ledger.ts";
import { findCustomer, type Payment, writeChanges } from "../db/payments.ts";
import {
  beginTopUp,
  exchangeTopUp,
  findTopUp,
  knownPayments,
  listOpenTopUps,
  listUntold,
  monthStart,
  nextLow,
  setFailed,
  setIntent,
  setMethod,
  setTold,
  setTopUp,
} from "../db/top-ups.ts";
import { newId } from "../base/ids.ts";
import { alert, log } from "../base/log.ts";
import type { TopUpAnswer, TopUpOrder } from "../rpc/payments.ts";
import { customerOf, returnTo, withCustomer } from "./checkout.ts";
import { accountOf, type Purpose, readPurpose, toMetadata } from "./purpose.ts";
import { settlePaid } from "./settle.ts";
import { type Desk, idOf, orMissing } from "./stripe.ts";
import { readTariff, takesPayments, type Tariff, toMoney } from "./units.ts";

/** Stripe knows an idempotency key for a day. After this time the payment is looked up instead of repeated. */
const repeatMs = 20 * hourMs;
const accountsPerRun = 200;
const paymentsPerRun = 50;
/** How long the e-mail to owners is repeated if it fails. */
const tellMs = 24 * hourMs;

/** Sets automatic top-up, or switches it off. Answers with the page of Stripe on which a card is stored if there is none, or if another one is wanted. */
export async function changeTopUp(desk: Desk, tariff: Tariff, order: TopUpOrder, by: Actor): Promise<TopUpAnswer> {
  const { accountId, settings, wantsCard, returnUrl } = order;
  const now = Date.now();
  if (!settings) {
    await setTopUp(desk.db, desk.wallets, by, accountId, null, now);
    return {};
  }
  const { threshold, amount } = settings;
  const { min, max, perCent, currency } = tariff;
  const [money, ceiling] = [toMoney(tariff, amount), toMoney(tariff, settings.ceiling)];
  if (money === undefined) return { refused: "step", field: "amount", step: toUnits(perCent) };
  if (ceiling === undefined) return { refused: "step", field: "ceiling", step: toUnits(perCent) };
  const range = (field: "threshold" | "amount" | "ceiling", least: number, most: number) =>
    ({ refused: "range", field, min: toUnits(least), max: toUnits(most) }) as const;
  if (money < min || money > max) return range("amount", min * perCent, max * perCent);
  // Else one payment would not be enough, and the next run would take another one.
  if (threshold < 1 || threshold > amount) return range("threshold", perCent, amount);
  if (ceiling < money || ceiling > 100 * max) return range("ceiling", amount, 100 * max * perCent);
  if (await isUnlimited(desk.db, accountId)) return { refused: "unlimited" };
  if ((await customerOf(desk, accountId)) === undefined) return { refused: "off" };
  await setTopUp(desk.db, desk.wallets, by, accountId, { threshold, money, currency, amount, ceiling }, now);
  const known = await findTopUp(desk.db, accountId, now);
  if (known?.methodId && !wantsCard) return {};
  const metadata = { gateway_account: accountId };
  const session = await withCustomer(desk, accountId, (customer) =>
    desk.stripe.checkout.sessions.create(
      {
        mode: "setup",
        customer,
        currency,
        metadata,
        setup_intent_data: { metadata },
        success_url: returnTo(returnUrl, "stored"),
        cancel_url: returnTo(returnUrl, "cancelled"),
      },
      { idempotencyKey: newId("card_") },
    ),
  );
  if (!session?.url) throw new Error("Stripe opened a session without a URL");
  return { url: session.url };
}

/** A card was stored for automatic top-up. Nothing for what something else stored. */
export function storeMethod({ db }: Desk, intent: Stripe.SetupIntent): ReturnType<typeof setMethod>[] {
  const [accountId, customer, method] = [accountOf(intent.metadata), idOf(intent.customer), idOf(intent.payment_method)];
  return accountId && customer && method ? [setMethod(db, accountId, customer, method, 1000 * intent.created)] : [];
}

/** Continues payments that a crash or a fault interrupted, begins those that are due, and tells owners of paused ones. */
export async function runTopUps(desk: Desk, env: PaymentsBindings): Promise<void> {
  for (const open of await listOpenTopUps(desk.db, paymentsPerRun)) await apart(open.accountId, () => charge(desk, open));
  const due = takesPayments(env) ? await nextLow(desk.db, Date.now(), accountsPerRun) : [];
  const tariff = readTariff(env);
  for (const { accountId, threshold } of due)
    await apart(accountId, async () => {
      const readAt = Date.now();
      const left = await desk.wallets.left(accountId);
      if (left === undefined || left >= threshold) return;
      const begun = await beginTopUp(desk.db, newId("pay_"), accountId, tariff, readAt, Date.now());
      if (begun) await charge(desk, begun);
    });
  for (const paused of await listUntold(desk.db, Date.now() - tellMs, paymentsPerRun))
    await apart(paused.accountId, async () => {
      const { accountId, amount, pausedFor } = paused;
      await desk.wallets.mailTopUp({ accountId, amount, reason: pausedFor ?? "declined" });
      await setTold(desk.db, paused, Date.now());
    });
}

/** A fault at one account does not stop the others; the next run tries again. */
async function apart(accountId: string, run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    alert("top_up", { account: accountId, outcome: "retry" }, error);
  }
}

/** Asks Stripe for a begun payment, or for its outcome. Throws if that stays unknown: the next run asks again for the same payment. */
async function charge(desk: Desk, payment: Payment): Promise<void> {
  const intent = await findOrMake(desk, payment);
  if (intent === "lost") return;
  if (intent?.status === "succeeded") return writeChanges(desk.db, await settlePaid(desk, intent));
  if (intent?.status === "processing") return writeChanges(desk.db, [setIntent(desk.db, payment.id, intent.id)]);
  // If the bank wants the person to confirm, the payment has failed too: no person is present.
  if (intent && intent.status !== "canceled") await desk.stripe.paymentIntents.cancel(intent.id);
  log("top_up", { account: payment.accountId, outcome: "failed", payment: payment.id });
  await writeChanges(desk.db, setFailed(desk.db, payment, Date.now()));
}

/** The payment intent; undefined if Stripe refused to make it or does not know it, "lost" if the payment is given up for others that a restored database lost. */
async function findOrMake(desk: Desk, payment: Payment): Promise<Stripe.PaymentIntent | "lost" | undefined> {
  const { db, stripe } = desk;
  const { id, accountId, money, amount, currency, methodId, intentId, createdAt } = payment;
  if (intentId !== null) return stripe.paymentIntents.retrieve(intentId).catch(orMissing);
  const customer = await findCustomer(db, accountId);
  if (customer === undefined || methodId === null) return undefined;
  const made = await listAutomatic(stripe, customer, Math.min(createdAt - hourMs, monthStart(createdAt))).catch(orMissing);
  if (!made) return undefined; // the stored card is gone with the customer
  const own = made.find(({ purpose }) => purpose.paymentId === id);
  if (own) return own.intent;
  if (await settleLost(desk, payment, made)) return "lost";
  if (createdAt < Date.now() - repeatMs) return undefined;
  try {
    return await stripe.paymentIntents.create(
      {
        amount: money,
        currency,
        customer,
        payment_method: methodId,
        off_session: true,
        confirm: true,
        automatic_payment_methods: { enabled: true, allow_redirects: "never" },
        description: "Automatic top-up",
        metadata: toMetadata({ accountId, paymentId: id, money, amount, isAutomatic: true }),
      },
      { idempotencyKey: id },
    );
  } catch (error) {
    const { type, payment_intent: refused } = error as { type?: string; payment_intent?: Stripe.PaymentIntent };
    if (type === "StripeCardError" || type === "StripeInvalidRequestError") return refused;
    throw error;
  }
}

/** An automatic payment as Stripe has it. */
interface Made {
  intent: Stripe.PaymentIntent;
  purpose: Purpose;
}

/** The automatic payments of a customer since `since` (milliseconds), newest first. */
async function listAutomatic(stripe: Stripe, customer: string, since: number): Promise<Made[]> {
  const made: Made[] = [];
  for (let after: string | undefined; ;) {
    const page = await stripe.paymentIntents.list({
      customer,
      created: { gte: Math.floor(since / 1000) },
      limit: 100,
      ...(after !== undefined && { starting_after: after }),
    });
    for (const intent of page.data) {
      const purpose = readPurpose(intent.metadata);
      if (purpose?.isAutomatic) made.push({ intent, purpose });
    }
    after = page.data.at(-1)?.id;
    if (!page.has_more || after === undefined) return made;
  }
}

/**
 * Learns automatic payments that a restored database lost, because they count for the month's ceiling, and one that was declined pauses top-up.
 * Returns true if there were any: then the begun payment is given up, and a later run begins one if it is still due.
 */
async function settleLost(desk: Desk, begun: Payment, made: Made[]): Promise<boolean> {
  const known = await knownPayments(
    desk.db,
    made.map(({ purpose }) => purpose.paymentId),
  );
  const lost = made.filter(({ purpose }) => purpose.accountId === begun.accountId && !known.has(purpose.paymentId));
  const [latest] = lost;
  if (!latest) return false;
  log("top_up", { account: begun.accountId, outcome: "learned", payments: lost.length });
  for (const { intent } of lost) await writeChanges(desk.db, await settlePaid(desk, intent));
  const { intent, purpose } = latest;
  // What becomes of it is asked for like that of every open one; one that succeeded is known by now.
  await writeChanges(
    desk.db,
    exchangeTopUp(desk.db, begun, { id: purpose.paymentId, intentId: intent.id, createdAt: 1000 * intent.created }),
  );
  return true;
}

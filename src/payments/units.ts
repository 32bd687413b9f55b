/** What a top-up costs: for each balance unit the currency, and what a cent or fen of it adds to the quota. Pure. */

import { readNumber, readWord } from "../base/variables.ts";

/** Money is in the smallest unit of the currency: cents, fen. */
export interface Tariff {
  currency: "usd" | "cny";
  /** Millionths of a balance unit for one cent or fen: a whole number, so that every conversion is exact. */
  perCent: number;
  /** The minimum and the maximum amount of one payment. */
  min: number;
  max: number;
  /** What the console offers. */
  offered: readonly number[];
}

const dollars = { currency: "usd", min: 500, max: 200_000, offered: [1_000, 2_500, 5_000, 10_000] } as const;
const yuan = { currency: "cny", min: 2_000, max: 1_000_000, offered: [5_000, 10_000, 20_000, 50_000] } as const;

/** By `BALANCE_UNIT`. Throws `VariableError`: for tokens the operator says how many a US dollar buys. */
export function readTariff(env: Pick<PaymentsBindings, "BALANCE_UNIT" | "TOKENS_PER_USD">): Tariff {
  const unit = readWord("BALANCE_UNIT", env.BALANCE_UNIT, ["USD", "CNY", "TOKENS"]);
  if (unit === "CNY") return { ...yuan, perCent: 10_000 };
  const perCent = 10_000 * (unit === "USD" ? 1 : readNumber("TOKENS_PER_USD", env.TOKENS_PER_USD));
  // What a payment adds must be exact, or it could not be credited: at least $9, with the most tokens for a dollar.
  const max = Math.min(dollars.max, Math.floor(Number.MAX_SAFE_INTEGER / perCent));
  const offered = dollars.offered.filter((money) => money <= max);
  return { ...dollars, perCent, max, offered: offered.length > 0 ? offered : [max] };
}

/** False if the operator has ended payments: nothing new is paid, and what was paid is still credited, refunded and disputed. Throws `VariableError`. */
export const takesPayments = (env: Pick<PaymentsBindings, "STRIPE_PAYMENTS">) =>
  readWord("STRIPE_PAYMENTS", env.STRIPE_PAYMENTS, ["on", "off"], "on") === "on";

/** True if Stripe makes an invoice for each payment. Throws `VariableError`. */
export const makesInvoices = (env: Pick<PaymentsBindings, "STRIPE_INVOICES">) =>
  readWord("STRIPE_INVOICES", env.STRIPE_INVOICES, ["on", "off"], "off") === "on";

/** The money that adds `amount` (millionths) to the quota; undefined if that is no whole number of cents. */
export function toMoney({ perCent }: Tariff, amount: number): number | undefined {
  const money = amount / perCent;
  return Number.isSafeInteger(money) ? money : undefined;
}

/** The part of `amount` that `part` of `whole` is, rounded down: what was received or returned of a payment. All whole numbers. */
export const share = (amount: number, part: number, whole: number): number => Number((BigInt(amount) * BigInt(part)) / BigInt(whole));

/** The metadata on everything that is made at Stripe: for whom it is and what it adds. So a credit needs neither our database nor today's tariff. */

/** `money` in the smallest unit of the currency, `amount` in millionths. */
export interface Purpose {
  accountId: string;
  paymentId: string;
  money: number;
  amount: number;
  /** True for an automatic top-up, which counts for the month's ceiling. */
  isAutomatic?: boolean;
}

export const toMetadata = ({ accountId, paymentId, money, amount, isAutomatic }: Purpose): Record<string, string> => ({
  gateway_account: accountId,
  gateway_payment: paymentId,
  gateway_money: String(money),
  gateway_amount: String(amount),
  ...(isAutomatic && { gateway_automatic: "1" }),
});

/** The account that customers and stored cards are for; undefined for what something else made on the same account of Stripe. */
export const accountOf = (metadata: Record<string, string> | null): string | undefined => metadata?.["gateway_account"];

/** undefined for what something else made on the same account of Stripe. */
export function readPurpose(metadata: Record<string, string> | null): Purpose | undefined {
  const accountId = accountOf(metadata);
  const paymentId = metadata?.["gateway_payment"];
  const [money, amount] = [Number(metadata?.["gateway_money"]), Number(metadata?.["gateway_amount"])];
  if (!accountId || !paymentId || !isPositive(money) || !isPositive(amount)) return undefined;
  return { accountId, paymentId, money, amount, isAutomatic: metadata?.["gateway_automatic"] === "1" };
}

const isPositive = (value: number) => Number.isSafeInteger(value) && value > 0;

/** Prices and usual durations of models for display. */

import type { ConsoleContext } from "../context.ts";
import { formatAmount } from "../amounts.ts";
import type { Translate } from "../messages.ts";
import type { Choice } from "../playground/choices.ts";
import { fromUnits } from "../../db/ledger.ts";

export type PriceName =
  | "task"
  | "image"
  | "image_hd"
  | "second"
  | "second_1080p"
  | "character"
  | "input_million_tokens"
  | "cached_input_million_tokens"
  | "output_million_tokens";

/** Prices with the unit of each, `["per image", "$0.03"]`, then the factors of an own input's fields, `["with sound: true", "× 2"]`. */
export const listPrices = (
  c: ConsoleContext,
  { price, priceRule }: Pick<Choice, "price" | "priceRule">,
): (readonly [name: string, amount: string])[] => [
  ...Object.entries(price).map(
    ([name, units]) => [c.var.t(`model_price_${name as PriceName}`), formatAmount(c, fromUnits(units))] as const,
  ),
  ...Object.entries(priceRule?.factors ?? {}).flatMap(([field, factors]) =>
    Object.entries(factors)
      .filter(([, factor]) => factor !== 1)
      .map(
        ([value, factor]) =>
          [value === "*" ? c.var.t("price_with_other", { field }) : c.var.t("price_with", { field, value }), `× ${factor}`] as const,
      ),
  ),
];

/** `about 15 s`, `about 2 min` */
export function usualTime(t: Translate, { typicalSeconds }: Pick<Choice, "typicalSeconds">): string {
  return typicalSeconds < 120
    ? t("about_seconds", { seconds: typicalSeconds })
    : t("about_minutes", { minutes: Math.round(typicalSeconds / 60) });
}

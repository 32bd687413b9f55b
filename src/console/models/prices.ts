/** Prices and usual durations of models for display. */

import type { ConsoleContext } from "../context.ts";
import { formatAmount } from "../amounts.ts";
import type { Translate } from "../messages.ts";
import type { Choice } from "../playground/choices.ts";

export type PriceName = "image" | "image_hd" | "second" | "second_1080p" | "character" | "input_million_tokens" | "output_million_tokens";

/** Prices with the unit of each: `["an image", "$0.03"]`. */
export const listPrices = (c: ConsoleContext, { price }: Choice): (readonly [name: string, amount: string])[] =>
  Object.entries(price).map(([name, units]) => [c.var.t(`model_price_${name as PriceName}`), formatAmount(c, Math.round(units * 1e6))]);

/** `about 15 s`, `about 2 min` */
export function usualTime(t: Translate, { typicalSeconds }: Choice): string {
  return typicalSeconds < 120
    ? t("about_seconds", { seconds: typicalSeconds })
    : t("about_minutes", { minutes: Math.round(typicalSeconds / 60) });
}

/** Prices of models for display. */

import { formatAmount } from "../amounts.ts";
import type { ConsoleContext } from "../frame.tsx";
import type { Choice } from "../playground/choices.ts";

type PriceName = "image" | "image_hd" | "second" | "second_1080p" | "character" | "input_million_tokens" | "output_million_tokens";

/** Prices with the unit of each: `["an image", "$0.03"]`. */
export const listPrices = (c: ConsoleContext, { price }: Choice): (readonly [name: string, amount: string])[] =>
  Object.entries(price).map(([name, units]) => [c.var.t(`model_price_${name as PriceName}`), formatAmount(c, Math.round(units * 1e6))]);

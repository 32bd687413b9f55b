/** The price of a submission, in whole millionths of a balance unit. Pure. */

import { type Action, allModels, type Model, type Price } from "./models.ts";
import type { Parameters } from "./parse.ts";

/** The operator's price table, `[vars.PRICES]`: model -> the prices that differ from the catalog's. */
export type PriceOverrides = Record<string, Partial<Price>>;

/**
 * Checks `[vars.PRICES]`. A wrong table must not lead to a wrong price: throws a
 * message that names the entry.
 */
export function checkPrices(overrides: unknown): PriceOverrides {
  if (overrides === undefined) return {};
  const names = new Map(allModels().map((model) => [model.id, model.price]));
  if (typeof overrides !== "object" || overrides === null) throw new TypeError("PRICES is not a table");
  for (const [id, price] of Object.entries(overrides)) {
    const known = names.get(id);
    if (!known) throw new TypeError(`PRICES names an unknown model: ${id}`);
    for (const [name, amount] of Object.entries(price as object))
      if (!(name in known) || !Number.isSafeInteger(amount) || amount < 0)
        throw new TypeError(`PRICES.${id}.${name} is not one of ${Object.keys(known).join(", ")} with a whole number of millionths`);
  }
  return overrides as PriceOverrides;
}

export const effectivePrice = (model: Model, overrides: PriceOverrides): Price => ({ ...model.price, ...overrides[model.id] });

/** The full price of a task: n images, seconds of video, or a character. */
export function taskPrice(price: Price, action: Exclude<Action, "chat">, parameters: Parameters): number {
  switch (action) {
    case "image":
      return imagePrice(price, parameters) * (parameters.n ?? 1);
    case "character":
      return price.character ?? 0;
    case "video":
    case "remix":
      return (price.second ?? 0) * (parameters.duration ?? 0) * (parameters.resolution === "1080p" ? (price["1080p_x"] ?? 1) : 1);
  }
}

/** The price of one image. */
export const imagePrice = (price: Price, parameters: Parameters) =>
  (price.image ?? 0) * (parameters.quality === "hd" ? (price.hd_x ?? 1) : 1);

/** The price of a chat: tokens times millionths per million tokens, rounded up once to a whole millionth. */
export const chatPrice = (price: Price, inputTokens: number, outputTokens: number) =>
  Math.ceil((inputTokens * (price.input ?? 0) + outputTokens * (price.output ?? 0)) / 1_000_000);

/** The price in `/v1/models`, in balance units. */
export function shownPrice(price: Price): Record<string, number> {
  const units = (millionths: number) => millionths / 1_000_000;
  const { image, hd_x, second, "1080p_x": factor1080p, character, input, output } = price;
  return {
    ...(image !== undefined && { image: units(image), image_hd: units(image * (hd_x ?? 1)) }),
    ...(second !== undefined && { second: units(second) }),
    ...(second !== undefined && factor1080p !== undefined && { second_1080p: units(second * factor1080p) }),
    ...(character !== undefined && { character: units(character) }),
    ...(input !== undefined && { input_million_tokens: units(input) }),
    ...(output !== undefined && { output_million_tokens: units(output) }),
  };
}

/** The inverse of `shownPrice`, for clients that only have `/v1/models`. Its factors are whole numbers, so the inverse is exact. */
export function priceFromShown(shown: Record<string, number>): Price {
  const price: Price = {};
  const millionths = (name: string) => Math.round((shown[name] ?? 0) * 1_000_000);
  const factor = (name: string, of: string) => (shown[of] ? Math.round((shown[name] ?? 0) / shown[of]) : 1);
  if (shown["image"] !== undefined) Object.assign(price, { image: millionths("image"), hd_x: factor("image_hd", "image") });
  if (shown["second"] !== undefined) price.second = millionths("second");
  if (shown["second_1080p"] !== undefined) price["1080p_x"] = factor("second_1080p", "second");
  if (shown["character"] !== undefined) price.character = millionths("character");
  if (shown["input_million_tokens"] !== undefined) price.input = millionths("input_million_tokens");
  if (shown["output_million_tokens"] !== undefined) price.output = millionths("output_million_tokens");
  return price;
}

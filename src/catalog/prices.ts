/** The price of a submission, in whole millionths of a balance unit. Pure. */

import type { Action, Model, Price } from "./models.ts";
import { priceInput, shownOwnPrice } from "./own-price.ts";
import type { Parameters } from "./parse.ts";

/** The full price of a task: n images, seconds of video, or a character. */
export function taskPrice(price: Price, action: Exclude<Action, "chat" | "file">, parameters: Parameters): number {
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

const imagePrice = (price: Price, parameters: Parameters) => (price.image ?? 0) * (parameters.quality === "hd" ? (price.hd_x ?? 1) : 1);

/** The price of a chat: tokens times millionths per million tokens, rounded up once to a whole millionth. `cachedTokens` are a part of the input's. */
export function chatPrice(price: Price, inputTokens: number, outputTokens: number, cachedTokens = 0): number {
  const { input = 0, cached_input: cached = input, output = 0 } = price;
  return Math.ceil((inputTokens * input + Math.min(cachedTokens, inputTokens) * (cached - input) + outputTokens * output) / 1_000_000);
}

/** The price in `/v1/models`, in balance units. */
export function shownPrice(price: Price): Record<string, number> {
  const units = (millionths: number) => millionths / 1_000_000;
  const { image, hd_x, second, "1080p_x": factor1080p, character, input, cached_input: cached, output } = price;
  return {
    ...(image !== undefined && { image: units(image), image_hd: units(image * (hd_x ?? 1)) }),
    ...(second !== undefined && { second: units(second) }),
    ...(second !== undefined && factor1080p !== undefined && { second_1080p: units(second * factor1080p) }),
    ...(character !== undefined && { character: units(character) }),
    ...(input !== undefined && { input_million_tokens: units(input) }),
    ...(cached !== undefined && { cached_input_million_tokens: units(cached) }),
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
  if (shown["cached_input_million_tokens"] !== undefined) price.cached_input = millionths("cached_input_million_tokens");
  if (shown["output_million_tokens"] !== undefined) price.output = millionths("output_million_tokens");
  return price;
}

/** What a task of a model costs, what one of its images costs if fewer may be made, and the amounts that were used, in balance units. */
export function priceTask(
  model: Model,
  action: Exclude<Action, "chat">,
  parameters: Parameters,
): { price: number; imagePrice?: number; amounts: Record<string, number> } {
  if (model.own) {
    const priced = priceInput(model.own.price, { ...parameters.input });
    if ("rule" in priced) throw new Error("an input without a price was accepted");
    return { ...priced, amounts: shownOwnPrice(model.own.price) };
  }
  if (action === "file") throw new Error("only an own input makes files");
  const { price } = model;
  return {
    price: taskPrice(price, action, parameters),
    ...(action === "image" && { imagePrice: imagePrice(price, parameters) }),
    amounts: shownPrice(price),
  };
}

/** Amounts as people read and write them: balance units, exact to the millionth. */

import { toUnits } from "../db/ledger.ts";
import type { ConsoleContext } from "./frame.tsx";
import type { Language } from "./messages.ts";
import { balanceUnit } from "./settings.ts";

/** As the language writes it, with a separator for thousands. */
export const amountIn = (language: Language, millionths: number) =>
  toUnits(millionths).toLocaleString(language, { maximumFractionDigits: 6 });

/** With its unit, in the page's language; null is no limit. */
export const amountOf = (c: ConsoleContext, millionths: number | null) =>
  millionths === null ? c.get("say")("unlimited") : `${amountIn(c.get("language"), millionths)} ${balanceUnit(c.env)}`;

/** In plain digits, as forms and programs read it: `0.000001`. */
export const decimal = (millionths: number) =>
  `${Math.floor(millionths / 1e6)}.${String(millionths % 1e6).padStart(6, "0")}`.replace(/\.?0+$/, "");

/** A quota that was typed in, in millionths: null for no limit, undefined for what is no quota. */
export function quotaOf(text: string): number | null | undefined {
  if (text === "") return null;
  return /^\d{1,10}(\.\d{1,6})?$/.test(text) && Number(text) <= 1e9 ? Math.round(Number(text) * 1e6) : undefined;
}

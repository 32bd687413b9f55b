/** Amounts as users read and write them: balance units, in the page's language. */

import type { ConsoleContext } from "./context.ts";
import { fromUnits, toUnits } from "../db/ledger.ts";
import type { Language } from "./messages.ts";
import { balanceUnit } from "./settings.ts";

const currencies = new Set(Intl.supportedValuesOf("currency"));

/** With the unit: `$1,234.05` for currencies, `1,234.05 credits` for other units. */
function withUnit(language: Language, unit: string, units: number, maxDigits: number): string {
  const digits = { minimumFractionDigits: 2, maximumFractionDigits: maxDigits };
  return currencies.has(unit)
    ? units.toLocaleString(language, { style: "currency", currency: unit, currencyDisplay: "narrowSymbol", ...digits })
    : `${units.toLocaleString(language, digits)} ${unit}`;
}

/** Rounded to the cent; amounts below a cent in full. */
export function roundedAmount(language: Language, unit: string, millionths: number): string {
  const isTiny = millionths !== 0 && Math.abs(millionths) < 10_000;
  return withUnit(language, unit, toUnits(millionths), isTiny ? 6 : 2);
}

/** `94.639533 USD`: all digits and the unit's code. */
export const exactAmount = (language: Language, unit: string, millionths: number) =>
  `${toUnits(millionths).toLocaleString(language, { maximumFractionDigits: 6 })} ${unit}`;

/** Exact with its unit: `$0.035`. */
export const fullAmount = (language: Language, unit: string, millionths: number) => withUnit(language, unit, toUnits(millionths), 6);

/** Exact with its unit, for prices and messages: `$0.035`; null is no limit. */
export const formatAmount = (c: ConsoleContext, millionths: number | null) =>
  millionths === null ? c.var.t("unlimited") : fullAmount(c.var.language, balanceUnit(c.env), millionths);

/** A share as `99.5 %`, with the space that the language uses. */
export function percentText(language: Language, share: number): string {
  const figure = (100 * share).toLocaleString(language, { maximumFractionDigits: 1 });
  return language === "en" ? `${figure}\u00a0%` : `${figure}%`;
}

/** A change as `+12 %` or `−3.5 %`. */
export function changeText(language: Language, share: number): string {
  const text = percentText(language, Math.abs(share));
  return share === 0 ? text : `${share > 0 ? "+" : "−"}${text}`;
}

/** Plain digits for forms and programs: `0.000001`, `-2.5`. */
export function decimal(millionths: number): string {
  const size = Math.abs(millionths);
  const digits = `${Math.floor(size / 1e6)}.${String(size % 1e6).padStart(6, "0")}`.replace(/\.?0+$/, "");
  return millionths < 0 ? `-${digits}` : digits;
}

/** A typed quota in millionths: null for no limit, undefined for invalid text. */
export function parseQuota(text: string): number | null | undefined {
  if (text === "") return null;
  return /^\d{1,10}(\.\d{1,6})?$/.test(text) && Number(text) <= 1e9 ? fromUnits(Number(text)) : undefined;
}

/** Dates and times: relative within a day, otherwise the date; the exact time is the tooltip. */

import type { Language } from "../messages.ts";
import { useAround } from "./context.ts";
import { dayMs, hourMs } from "../../base/times.ts";

const dayMinutes = 1440;
/** Date formats with the day before the month. */
const toLocale = (language: Language) => (language === "en" ? "en-GB" : language);

/** `2026-11-22 01:02:03 UTC` */
const exactTime = (ms: number) => `${new Date(ms).toISOString().slice(0, 19).replace("T", " ")} UTC`;

/** With a space between a number and its Chinese or English unit, as in all other texts. The pages' scripts do the same. */
export const spaced = (text: string) => text.replace(/\d(?=[\p{Script=Han}hms])/gu, "$& ");

/** `1.24 s`, `3 min`, `24 h`, `7 days`, `1.24 秒`: English has a letter for seconds and hours, as in countdowns. */
export const unitText = (
  language: string,
  value: number,
  unit: "second" | "minute" | "hour" | "day",
  digits: Intl.NumberFormatOptions = {},
): string =>
  spaced(
    value.toLocaleString(language, {
      ...digits,
      style: "unit",
      unit,
      unitDisplay: language === "en" && (unit === "second" || unit === "hour") ? "narrow" : "short",
    }),
  );

/** A length of time to choose, in milliseconds: `1 h`, `24 h`, `7 days`. */
export const lengthText = (language: string, ms: number): string =>
  ms < 2 * dayMs ? unitText(language, ms / hourMs, "hour") : unitText(language, ms / dayMs, "day");

/** `1.24 s`, `97 ms`, `3 min 12 s` */
export function spanText(language: string, ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 120) return unitText(language, seconds, "second", { maximumSignificantDigits: 3 });
  const whole = Math.round(seconds);
  const rest = whole % 60;
  return unitText(language, Math.floor(whole / 60), "minute") + (rest === 0 ? "" : ` ${unitText(language, rest, "second")}`);
}

/**
 * `8 min ago`, `in 3 hr`, or a date in UTC, without the current year. Rounded to a minute, so that what lasts an hour is "in 1 hr"
 * when it has just begun.
 */
export function relativeTime(language: Language, ms: number, now: number): string {
  const minutes = Math.round((ms - now) / 60_000);
  if (Math.abs(minutes) <= dayMinutes) {
    const format = new Intl.RelativeTimeFormat(toLocale(language), { style: "short", numeric: "auto" });
    if (minutes === 0) return format.format(0, "second");
    return spaced(Math.abs(minutes) < 60 ? format.format(minutes, "minute") : format.format(Math.trunc(minutes / 60), "hour"));
  }
  return dateText(language, ms, now);
}

/** `3 Oct`, or `3 Oct 2025` if it is another year. UTC. */
export function dateText(language: Language, ms: number, now = Date.now()): string {
  const isThisYear = new Date(ms).getUTCFullYear() === new Date(now).getUTCFullYear();
  return new Intl.DateTimeFormat(toLocale(language), {
    day: "numeric",
    month: "short",
    ...(!isThisYear && { year: "numeric" }),
    timeZone: "UTC",
  }).format(ms);
}

/** A relative time or date; the pages' script keeps it up to date and in the user's time zone. */
export const DateTime = ({ ms }: { ms: number }) => (
  <time datetime={new Date(ms).toISOString()} title={exactTime(ms)} data-relative>
    {relativeTime(useAround().language, ms, Date.now())}
  </time>
);

/** A clock time, for logs, receipts and timelines. */
export const ClockTime = ({ ms }: { ms: number }) => (
  <time datetime={new Date(ms).toISOString()} title={exactTime(ms)}>
    {exactTime(ms)}
  </time>
);

/** A clock time in UTC without its day, for lists by day. */
export const UtcTime = ({ ms }: { ms: number }) => (
  <time datetime={new Date(ms).toISOString()} title={exactTime(ms)}>
    {new Date(ms).toISOString().slice(11, 19)}
  </time>
);

/** A clock time without its day, for timelines; the pages' script shows it in the user's time zone. */
export const TimeOfDay = ({ ms }: { ms: number }) => (
  <time datetime={new Date(ms).toISOString()} title={exactTime(ms)} data-clock>
    {new Date(ms).toISOString().slice(11, 19)}
  </time>
);

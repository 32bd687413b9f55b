/** The period of the usage page: the last days up to today, or own dates. Days in UTC. */

import type { ConsoleContext } from "../context.ts";
import { startOfDays } from "../../db/ledger-reports.ts";
import { Button, Icon, lengthText, NavLinks, TextField, useAround } from "../parts/index.ts";
import { dayMs, parseDate, toDate } from "../../base/times.ts";

const choices = [7, 30, 90];
/** The API's limit. */
const maxDays = 92;

export interface Period {
  /** The first millisecond of the first day, and that of the day after the last. */
  since: number;
  until: number;
  days: number;
  /** The query that chooses it. */
  query: string;
  /** The dates that were typed, if they chose it or were refused. */
  own?: { from: string; to: string; isRefused: boolean };
}

/** The period that the address asks for: own dates, or one of the choices; the last thirty days for anything else. */
export function readPeriod(c: ConsoleContext): Period {
  const now = Date.now();
  const [from, to] = [c.req.query("from")?.slice(0, 10), c.req.query("to")?.slice(0, 10)];
  const ofDays = (days: number): Period => ({ since: startOfDays(days, now), until: startOfDays(0, now), days, query: `days=${days}` });
  if (from === undefined && to === undefined) return ofDays(choices.find((days) => String(days) === c.req.query("days")) ?? 30);
  const own = { from: from ?? "", to: to ?? "" };
  const [first, last] = [parseDate(own.from), parseDate(own.to)];
  const days = (last - first) / dayMs + 1;
  if (!(days >= 1 && days <= maxDays && first <= now)) return { ...ofDays(30), own: { ...own, isRefused: true } };
  return { since: first, until: last + dayMs, days, query: `from=${own.from}&to=${own.to}`, own: { ...own, isRefused: false } };
}

/** The choice of the period. `more` is added to each address. */
export const Periods = ({ period: { query, own, since, until }, more }: { period: Period; more: string }) => {
  const { t, language } = useAround();
  return (
    <>
      <NavLinks
        class="seg"
        label={t("usage_period")}
        of={choices.map((one) => ({
          path: `/console/usage?days=${one}${more}`,
          text: lengthText(language, one * dayMs),
          isHere: query === `days=${one}`,
        }))}
      />
      <button class="chip" type="button" popovertarget="own-dates" aria-current={own ? "true" : undefined}>
        {own && !own.isRefused ? `${own.from} – ${own.to}` : t("usage_own")}
        <Icon name="chev" />
      </button>
      <form class="menu down dates" id="own-dates" popover="auto" action="/console/usage">
        <TextField name="from" type="date" label={t("usage_from")} value={own?.from ?? toDate(since)} required />
        <TextField
          name="to"
          type="date"
          label={t("usage_to")}
          value={own?.to ?? toDate(until - dayMs)}
          hint={t("usage_dates_hint", { days: maxDays })}
          required
        />
        <p>
          <Button class="btn" text={t("show")} />
        </p>
      </form>
    </>
  );
};

/** The balance with its course over the last month. */

import type { Child } from "hono/jsx";
import { roundedAmount } from "../amounts.ts";
import { Filled, Money, Spark, useAround } from "../parts/index.ts";

interface BalanceProps {
  /** Millionths; null is unlimited. */
  left: number | null;
  reserved: number;
  /** By how much use exceeds the quota. */
  shortfall: number;
  /** The days of `daysLeft`. */
  lasts: number | undefined;
  /** The balances of `dailyBalances`; empty without a limit. */
  course: number[];
  since: number;
  children?: Child;
}

export const Balance = ({ left, reserved, shortfall, lasts, course, since, children }: BalanceProps) => {
  const { t } = useAround();
  return (
    <section class="card" aria-labelledby="balance-title">
      <header>
        <h2 id="balance-title">{t("balance")}</h2>
        {lasts !== undefined && (
          <span class="meta push">{lasts === Infinity ? t("billing_lasts_long") : t("billing_lasts", { count: lasts })}</span>
        )}
      </header>
      <p class="balance num">
        <Money millionths={shortfall > 0 ? -shortfall : left} />
      </p>
      <p class="meta">
        <Filled message="reserved_small" by={{ amount: <Money millionths={reserved} /> }} />
      </p>
      {course.length > 1 && <Course of={course} since={since} />}
      {children}
    </section>
  );
};

/** Its range is in its name. */
const Course = ({ of, since }: { of: number[]; since: number }) => {
  const { language, t, unit } = useAround();
  const amount = (millionths: number) => roundedAmount(language, unit, millionths);
  const range = { days: of.length - 1, low: amount(Math.min(...of)), high: amount(Math.max(...of)) };
  return <Spark amounts={of} since={since} label={t("billing_course", range)} hasMiddle />;
};

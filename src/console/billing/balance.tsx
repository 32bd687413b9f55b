/** The balance with its course over the last month. */

import type { Child } from "hono/jsx";
import { roundedAmount } from "../amounts.ts";
import { useAround } from "../parts/context.ts";
import { dateText } from "../parts/date-time.tsx";
import { Filled } from "../parts/filled.tsx";
import { Money } from "../parts/money.tsx";
import { dayMs } from "../../base/times.ts";

const width = 100;
const height = 40;

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

/** A line in steps of a day, without labels of its own: its range is in its name. */
const Course = ({ of, since }: { of: number[]; since: number }) => {
  const { language, t, unit } = useAround();
  const top = Math.max(...of, 1);
  const bottom = Math.min(...of, 0);
  const y = (amount: number) => (height - 2 - ((height - 4) * (amount - bottom)) / (top - bottom)).toFixed(2);
  const points = of.map((amount, at) => `${((at * width) / (of.length - 1)).toFixed(2)} ${y(amount)}`);
  const amount = (millionths: number) => roundedAmount(language, unit, millionths);
  const range = { days: of.length - 1, low: amount(Math.min(...of)), high: amount(Math.max(...of)) };
  return (
    <div class="pt">
      <svg class="spark" viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" role="img" aria-label={t("billing_course", range)}>
        <path class="a" d={`M0 ${height}L${points.join("L")}L${width} ${height}Z`} />
        <path d={`M${points.join("L")}`} />
      </svg>
      <div class="row meta num between">
        <span>{dateText(language, since)}</span>
        <span>{dateText(language, since + Math.floor((of.length - 1) / 2) * dayMs)}</span>
        <span>{t("today")}</span>
      </div>
    </div>
  );
};

/** Revenue and cost by day: two bars a day. What the cost leaves of the revenue is the margin. */

import type { Margin } from "../../db/margins.ts";
import { roundedAmount } from "../amounts.ts";
import { dateText, DayAxis, Legend, Plot, plotHeight, roundUp, useAround } from "../parts/index.ts";
import { dayMs } from "../../base/times.ts";

/** Of the ten units of a day, each of its two bars takes four. */
const dayWidth = 10;
const barWidth = 4;
const lines = [1, 0.5, 0] as const;

/** `rows` are days; those without settlements are missing. */
export const MarginChart = ({ rows, since, days }: { rows: Margin[]; since: number; days: number }) => {
  const { language, t, unit } = useAround();
  const top = roundUp(Math.max(0, ...rows.flatMap(({ revenue, cost }) => [revenue, cost])));
  const amount = (millionths: number) => roundedAmount(language, unit, millionths);
  const sides = [
    ["revenue", "d1", t("admin_margin_revenue")],
    ["cost", "d6", t("admin_margin_cost")],
  ] as const;
  return (
    <div class="card">
      <header>
        <h2>{t("admin_margin_chart")}</h2>
        <Legend class="legend push" of={sides.map(([, colour, name]) => [colour, name])} />
      </header>
      <Plot label={t("admin_margin_chart")} top={top} width={days * dayWidth} lines={lines} axis={<DayAxis since={since} days={days} />}>
        {rows.flatMap((row) =>
          sides.map(([of, colour, name], side) => (
            <rect
              class={colour}
              x={((Number(row.name) - since) / dayMs) * dayWidth + 1 + side * barWidth}
              y={plotHeight * (1 - row[of] / top)}
              width={barWidth}
              height={(plotHeight * row[of]) / top}
            >
              <title>{`${dateText(language, Number(row.name))}, ${name}: ${amount(row[of])}`}</title>
            </rect>
          )),
        )}
      </Plot>
    </div>
  );
};

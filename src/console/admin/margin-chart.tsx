/** Revenue and cost by day: two bars a day. What the cost leaves of the revenue is the margin. */

import type { Margin } from "../../db/margins.ts";
import { roundedAmount } from "../amounts.ts";
import { useAround } from "../parts/context.ts";
import { dateText } from "../parts/date-time.tsx";
import { roundUp } from "../usage/chart.tsx";

const dayMs = 86_400_000;
const height = 160;
/** Of the ten units of a day, each of its two bars takes four. */
const dayWidth = 10;
const barWidth = 4;
const lines = [1, 0.5, 0] as const;

/** `rows` are days; those without settlements are missing. */
export const MarginChart = ({ rows, since, days }: { rows: Margin[]; since: number; days: number }) => {
  const { language, t, unit } = useAround();
  const top = roundUp(Math.max(0, ...rows.flatMap(({ revenue, cost }) => [revenue, cost])));
  const amount = (millionths: number) => roundedAmount(language, unit, millionths);
  const parts = days < 10 ? 3 : 4;
  const marks = Array.from({ length: parts + 1 }, (_, part) => since + Math.round((part / parts) * (days - 1)) * dayMs);
  const sides = [
    ["revenue", "d1", t("admin_margin_revenue")],
    ["cost", "d3", t("admin_margin_cost")],
  ] as const;
  return (
    <div class="card">
      <header>
        <h2>{t("admin_margin_chart")}</h2>
        <span class="meta push row">
          {sides.map(([, colour, name]) => (
            <span class="row">
              <svg class="key" viewBox="0 0 10 10" aria-hidden="true">
                <rect class={colour} width="10" height="10" rx="2" />
              </svg>
              {name}
            </span>
          ))}
        </span>
      </header>
      <div class="plotgrid plot">
        <div class="ylab axis" aria-hidden="true">
          {lines.map((part) => (
            <span>{amount(top * part)}</span>
          ))}
        </div>
        <div>
          <svg viewBox={`0 0 ${days * dayWidth} ${height}`} preserveAspectRatio="none" role="img" aria-label={t("admin_margin_chart")}>
            {lines.map((part) => (
              <line x1="0" x2={days * dayWidth} y1={height * (1 - part)} y2={height * (1 - part)} />
            ))}
            {rows.flatMap((row) =>
              sides.map(([of, colour, name], side) => (
                <rect
                  class={colour}
                  x={((Number(row.name) - since) / dayMs) * dayWidth + 1 + side * barWidth}
                  y={height * (1 - row[of] / top)}
                  width={barWidth}
                  height={(height * row[of]) / top}
                >
                  <title>{`${dateText(language, Number(row.name))}, ${name}: ${amount(row[of])}`}</title>
                </rect>
              )),
            )}
          </svg>
          <div class="axis" aria-hidden="true">
            {marks.map((day) => (
              <span>{dateText(language, day)}</span>
            ))}
          </div>
        </div>
      </div>
    </div>
  );
};

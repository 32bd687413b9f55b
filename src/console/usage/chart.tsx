/** Charges by day and model as stacked bars. */

import type { Spent } from "../../db/ledger-reports.ts";
import { roundedAmount } from "../amounts.ts";
import { useAround } from "../parts/context.ts";
import { dateText } from "../parts/date-time.tsx";

const dayMs = 86_400_000;
const height = 200;
/** Of the ten units of a day, its bar takes eight. */
const dayWidth = 10;
const barWidth = 8;

/** The models with the highest charges have a colour each; the rest share the last colour. */
const ownColours = 5;

export interface Series {
  /** null: all models without a colour of their own. */
  model: string | null;
  /** The class of its colour. */
  colour: string;
  charged: number;
  of: Spent[];
}

const sum = (spent: Spent[]) => spent.reduce((total, { charged }) => total + charged, 0);

/** The series of a chart, the highest sum first, "others" last. */
export function toSeries(spent: Spent[]): Series[] {
  const models = [...Map.groupBy(spent, ({ model }) => model)]
    .map(([model, of]) => ({ model, of, charged: sum(of) }))
    .sort((a, b) => b.charged - a.charged);
  const own = models.slice(0, models.length === ownColours + 1 ? ownColours + 1 : ownColours);
  const others = models.slice(own.length).flatMap(({ of }) => of);
  return [
    ...own.map((one, at) => ({ ...one, colour: `d${at + 1}` })),
    ...(others.length > 0 ? [{ model: null, of: others, charged: sum(others), colour: "d6" }] : []),
  ];
}

/** The smallest round number that is not below an amount: 1, 2, 2.5 or 5 times a power of ten, with four grid lines. */
export function roundUp(millionths: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(millionths, 1)));
  return ([1, 2, 4, 8].find((factor) => factor * power >= millionths) ?? 10) * power;
}

const lines = [1, 0.75, 0.5, 0.25, 0] as const;

export const Chart = ({ series, since, days }: { series: Series[]; since: number; days: number }) => {
  const { language, t, unit } = useAround();
  const dayList = Array.from({ length: days }, (_, at) => since + at * dayMs);
  const chargedOn = (day: number) => series.reduce((total, { of }) => total + sum(of.filter((one) => one.day === day)), 0);
  const top = roundUp(Math.max(...dayList.map(chargedOn)));
  const amount = (millionths: number) => roundedAmount(language, unit, millionths);
  const parts = days < 10 ? 3 : 4;
  // From the first day to the last, as far apart as the labels below stand.
  const marks = Array.from({ length: parts + 1 }, (_, part) => since + Math.round((part / parts) * (days - 1)) * dayMs);
  return (
    <div class="plotgrid plot">
      <div class="ylab axis" aria-hidden="true">
        {lines.map((part) => (
          <span>{amount(top * part)}</span>
        ))}
      </div>
      <div>
        <svg id="chart" viewBox={`0 0 ${days * dayWidth} ${height}`} preserveAspectRatio="none" role="img" aria-label={t("usage_chart")}>
          {lines.map((part) => (
            <line x1="0" x2={days * dayWidth} y1={height * (1 - part)} y2={height * (1 - part)} />
          ))}
          {dayList.map((day, at) => (
            <Bar day={day} x={at * dayWidth + (dayWidth - barWidth) / 2} series={series} top={top} amount={amount} />
          ))}
        </svg>
        <div class="axis" aria-hidden="true">
          {marks.map((day) => (
            <span>{dateText(language, day)}</span>
          ))}
        </div>
      </div>
    </div>
  );
};

interface BarProps {
  day: number;
  x: number;
  series: Series[];
  top: number;
  amount: (millionths: number) => string;
}

/** One day: each model on top of the previous one, its amount as the tooltip. */
const Bar = ({ day, x, series, top, amount }: BarProps) => {
  const { language, t } = useAround();
  let below = 0;
  return (
    <>
      {series.map(({ model, colour, of }) => {
        const charged = sum(of.filter((one) => one.day === day));
        if (charged === 0) return null;
        const tall = (charged / top) * height;
        below += tall;
        return (
          <rect class={colour} x={x} y={height - below} width={barWidth} height={tall}>
            <title>{`${dateText(language, day)}, ${model ?? t("usage_others")}: ${amount(charged)}`}</title>
          </rect>
        );
      })}
    </>
  );
};

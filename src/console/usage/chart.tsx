/** Charges by day and model as stacked bars. */

import type { Spent } from "../../db/ledger-reports.ts";
import { roundedAmount } from "../amounts.ts";
import { dateText, DayAxis, Plot, plotHeight, roundUp, Stack, stepWidth, useAround } from "../parts/index.ts";
import { dayMs } from "../../base/times.ts";

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

/** What these cost together. */
export const sum = (spent: Spent[]) => spent.reduce((total, { charged }) => total + charged, 0);

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

export const Chart = ({ series, since, days }: { series: Series[]; since: number; days: number }) => {
  const { language, t, unit } = useAround();
  const dayList = Array.from({ length: days }, (_, at) => since + at * dayMs);
  const chargedOn = (day: number) => series.reduce((total, { of }) => total + sum(of.filter((one) => one.day === day)), 0);
  const top = roundUp(Math.max(...dayList.map(chargedOn)));
  return (
    <Plot id="chart" label={t("usage_chart")} top={top} width={days * stepWidth} axis={<DayAxis since={since} days={days} />}>
      {dayList.map((day, at) => (
        <Stack
          at={at}
          top={top}
          height={plotHeight}
          bars={series.map(({ model, colour, of }) => {
            const value = sum(of.filter((one) => one.day === day));
            return {
              look: colour,
              value,
              title: `${dateText(language, day)}, ${model ?? t("usage_others")}: ${roundedAmount(language, unit, value)}`,
            };
          })}
        />
      ))}
    </Plot>
  );
};

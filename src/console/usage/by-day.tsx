/** Charges by day and model: the chart, a table by model as its legend, and a table by day. */

import { percentText } from "../amounts.ts";
import type { ModelUse, Spent } from "../../db/ledger-reports.ts";
import { DataTable, dateText, Money, Swatch, Table, useAround } from "../parts/index.ts";
import { Chart, type Series, sum, toSeries } from "./chart.tsx";
import { toDate } from "../../base/times.ts";

/** Days without a charge have no row; the chart includes them. */
export const ByDay = ({ spent, uses, since, days }: { spent: Spent[]; uses: ModelUse[]; since: number; days: number }) => {
  const { t, unit } = useAround();
  if (spent.length === 0) return <p class="muted">{t("usage_nothing")}</p>;
  const series = toSeries(spent);
  return (
    <div class="stack">
      <div class="card">
        <header>
          <h2 id="days">{t("usage_by_day")}</h2>
          <span class="meta push">{t("usage_by_day_note", { unit })}</span>
        </header>
        <Chart series={series} since={since} days={days} />
      </div>
      <ByModel series={series} uses={uses} />
      <details class="more">
        <summary>{t("usage_each_day")}</summary>
        <Days spent={spent} />
      </details>
    </div>
  );
};

/** The legend: each model with its colour, runs, share and sum. Models that cost nothing have no colour. */
const ByModel = ({ series, uses }: { series: Series[]; uses: ModelUse[] }) => {
  const { t, language } = useAround();
  const shown = new Set(series.flatMap(({ of }) => of.map(({ model }) => model)));
  const free = uses.filter(({ model }) => !shown.has(model)).map(({ model }) => ({ model, colour: "", charged: 0, of: [{ model }] }));
  const runsOf = (models: { model: string }[]) => {
    const names = new Set(models.map(({ model }) => model));
    return uses.reduce((runs, use) => runs + (names.has(use.model) ? use.runs : 0), 0);
  };
  const total = series.reduce((all, { charged }) => all + charged, 0);
  const share = (charged: number) => percentText(language, charged / total);
  return (
    <DataTable
      id="by-model"
      label={t("usage_by_model")}
      rows={[...series, ...free]}
      columns={[
        {
          name: t("model"),
          cell: ({ model, colour }) => (
            <span class="row">
              <Swatch colour={colour} />
              {model ?? t("usage_others")}
            </span>
          ),
        },
        { name: t("usage_runs"), isNumber: true, cell: ({ of }) => runsOf(of).toLocaleString(language) },
        { name: t("usage_share"), isNumber: true, isExtra: true, cell: ({ charged }) => share(charged) },
        { name: t("usage_charged"), isNumber: true, cell: ({ charged }) => <Money millionths={charged} /> },
      ]}
      foot={
        <tr>
          <th scope="row">{t("usage_total")}</th>
          <td class="num">{uses.reduce((runs, use) => runs + use.runs, 0).toLocaleString(language)}</td>
          <td class="num hide-s">{share(total)}</td>
          <td class="num">
            <Money millionths={total} />
          </td>
        </tr>
      }
    />
  );
};

/** Every day with a charge, with a column for each model. */
const Days = ({ spent }: { spent: Spent[] }) => {
  const { t, language } = useAround();
  const models = [...new Set(spent.map(({ model }) => model))].sort();
  return (
    <Table
      id="by-day"
      label={t("usage_each_day")}
      columns={[t("usage_day"), ...models.map((name) => ({ name, isNumber: true })), { name: t("usage_total"), isNumber: true }]}
      foot={<Amounts name={t("usage_total")} models={models} of={spent} />}
    >
      {[...Map.groupBy(spent, ({ day }) => day)].map(([day, of]) => (
        <Amounts name={<time datetime={toDate(day)}>{dateText(language, day)}</time>} models={models} of={of} />
      ))}
    </Table>
  );
};

const Amounts = ({ name, models, of }: { name: unknown; models: string[]; of: Spent[] }) => (
  <tr>
    <th scope="row">{name}</th>
    {models.map((name) => {
      const charged = sum(of.filter(({ model }) => model === name));
      return <td class="num">{charged === 0 ? "–" : <Money millionths={charged} />}</td>;
    })}
    <td class="num">
      <Money millionths={sum(of)} />
    </td>
  </tr>
);

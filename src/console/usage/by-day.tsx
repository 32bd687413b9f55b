/** What was charged by day and model: a table, and the place for the chart that a script draws of it. */

import type { Spent } from "../../db/ledger-reports.ts";
import { amountIn } from "../amounts.ts";
import type { ConsoleContext } from "../frame.tsx";
import { balanceUnit } from "../settings.ts";

const dateOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);

const sum = (spent: Spent[]) => spent.reduce((total, { charged }) => total + charged, 0);

/** Days without a charge have no row; the chart has them. */
export const ByDay = ({ c, spent, since, days }: { c: ConsoleContext; spent: Spent[]; since: number; days: number }) => {
  const { say, language } = c.var;
  if (spent.length === 0) return <p>{say("usage_nothing")}</p>;
  const models = [...new Set(spent.map(({ model }) => model))].sort();
  const byDay = Map.groupBy(spent, ({ day }) => day);
  const Amounts = ({ of }: { of: Spent[] }) => (
    <>
      {models.map((name) => {
        const charged = sum(of.filter(({ model }) => model === name));
        return <td>{charged === 0 ? "–" : <data value={String(charged)}>{amountIn(language, charged)}</data>}</td>;
      })}
      <td>
        <strong>{amountIn(language, sum(of))}</strong>
      </td>
    </>
  );
  return (
    <>
      <link rel="stylesheet" href="/console/static/uplot.css" />
      <script src="/console/static/uplot.js" defer />
      <script src="/console/static/usage.js" type="module" />
      <p>{say("usage_by_day_note", { unit: balanceUnit(c.env) })}</p>
      <figure class="chart" id="chart" hidden role="img" aria-label={say("usage_chart")} data-day={say("usage_day")} />
      <div class="overflow-auto short" tabindex={0} role="region" aria-labelledby="days">
        <table class="dense" id="by-day" data-from={dateOf(since)} data-days={days}>
          <thead>
            <tr>
              <th scope="col">{say("usage_day")}</th>
              {models.map((model) => (
                <th scope="col">{model}</th>
              ))}
              <th scope="col">{say("usage_total")}</th>
            </tr>
          </thead>
          <tbody>
            {[...byDay].map(([day, of]) => (
              <tr>
                <th scope="row">
                  <time datetime={dateOf(day)}>{dateOf(day)}</time>
                </th>
                <Amounts of={of} />
              </tr>
            ))}
          </tbody>
          <tfoot>
            <tr>
              <th scope="row">{say("usage_total")}</th>
              <Amounts of={spent} />
            </tr>
          </tfoot>
        </table>
      </div>
    </>
  );
};

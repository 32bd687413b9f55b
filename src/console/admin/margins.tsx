/** What the operator earned and paid: by model, route, account or day, over the whole deployment. */

import type { ConsoleContext, ConsoleEnvironment } from "../context.ts";
import { Hono } from "hono";
import { startOfDays } from "../../db/ledger-reports.ts";
import { type Margin, type MarginGroup, readMargins } from "../../db/margins.ts";
import { percentText } from "../amounts.ts";
import { DataTable, dateText, Empty, lengthText, Link, Money, NavLinks, Stats, useAround } from "../parts/index.ts";
import { askAsOperator } from "../gateway.ts";
import { adminPage } from "./frame.tsx";
import { MarginChart } from "./margin-chart.tsx";
import { dayMs, toDate } from "../../base/times.ts";

const path = "/console/admin/margins";
const names = { model: "model", route: "admin_margin_by_route", account: "account", day: "usage_day" } as const;
const groups = Object.keys(names) as MarginGroup[];
const periods = [1, 7, 30, 90];

const readChoice = (c: ConsoleContext) => ({
  group: groups.find((one) => one === c.req.query("by")) ?? "model",
  days: periods.find((one) => String(one) === c.req.query("days")) ?? 30,
});

/** The share of the revenue that is left; a dash without revenue. */
export const Share = ({ revenue, cost }: Pick<Margin, "revenue" | "cost">) => {
  const { language } = useAround();
  if (revenue === 0) return <>–</>;
  const text = percentText(language, (revenue - cost) / revenue);
  return cost > revenue ? <span class="loses">{text}</span> : <>{text}</>;
};

/** The name of a group, with a link to what it is. */
const Name = ({ group, name }: { group: MarginGroup; name: Margin["name"] }) => {
  const { t, language } = useAround();
  if (group === "day") return <>{dateText(language, Number(name))}</>;
  if (name === "") return <>{t("admin_margin_unknown")}</>;
  if (group === "model") return <a href={`/console/admin/models/${encodeURIComponent(String(name))}`}>{name}</a>;
  return group === "account" ? <a href={`/console/admin/accounts/${name}`}>{name}</a> : <>{name}</>;
};

/** The sums of all rows as key numbers. */
export const MarginStats = ({ rows }: { rows: Margin[] }) => {
  const { t, language } = useAround();
  const total = (of: "revenue" | "cost" | "completed" | "failed" | "uncosted") => rows.reduce((sum, row) => sum + row[of], 0);
  const [revenue, cost, uncosted] = [total("revenue"), total("cost"), total("uncosted")];
  const ended = total("completed") + total("failed");
  return (
    <Stats
      of={[
        [t("admin_margin_revenue"), <Money millionths={revenue} />],
        [t("admin_margin_cost"), <Money millionths={cost} />, uncosted > 0 ? t("admin_margin_uncosted", { count: uncosted }) : undefined],
        [t("admin_margin"), <Share revenue={revenue} cost={cost} />, <Money millionths={revenue - cost} />],
        [
          t("admin_margin_ended"),
          ended.toLocaleString(language),
          ended > 0 ? t("usage_runs_completed", { share: percentText(language, total("completed") / ended) }) : undefined,
        ],
      ]}
    />
  );
};

export const MarginTable = ({ group, rows }: { group: MarginGroup; rows: Margin[] }) => {
  const { t, language } = useAround();
  return (
    <DataTable
      label={t(names[group])}
      rows={rows}
      columns={[
        { name: t(names[group]), class: "wrap", cell: ({ name }) => <Name group={group} name={name} /> },
        {
          name: t("admin_margin_ended"),
          isNumber: true,
          isExtra: true,
          cell: ({ completed, failed }) => (completed + failed).toLocaleString(language),
        },
        { name: t("admin_margin_revenue"), isNumber: true, cell: ({ revenue }) => <Money millionths={revenue} /> },
        { name: t("admin_margin_cost"), isNumber: true, cell: ({ cost }) => <Money millionths={cost} /> },
        { name: t("admin_margin"), isNumber: true, cell: (row) => <Share {...row} /> },
        {
          name: t("admin_margin_uncosted_head"),
          isNumber: true,
          isExtra: true,
          cell: ({ uncosted }) => uncosted.toLocaleString(language),
        },
      ]}
    />
  );
};

/** `GET /console/admin/margins?by=&days=` */
async function show(c: ConsoleContext) {
  const { t } = c.var;
  const { group, days } = readChoice(c);
  const now = Date.now();
  const [first, last] = [startOfDays(days, now), startOfDays(1, now)];
  const [rows, byDay] = await Promise.all([
    readMargins(c.env.DB, { first, last }, group),
    days > 1 && group !== "day" ? readMargins(c.env.DB, { first, last }, "day") : undefined,
  ]).then(([all, daily]) => [all, daily ?? all] as const);
  return adminPage(
    c,
    t("admin_margins"),
    <>
      <MarginStats rows={rows} />
      <section>
        <div class="sub">
          <NavLinks
            class="seg sm"
            label={t("usage_group")}
            of={groups.map((one) => ({ path: `${path}?by=${one}&days=${days}`, text: t(names[one]), isHere: one === group }))}
          />
          <NavLinks
            class="seg sm push"
            label={t("usage_period")}
            of={periods.map((one) => ({
              path: `${path}?by=${group}&days=${one}`,
              text: one === 1 ? t("today") : lengthText(c.var.language, one * dayMs),
              isHere: one === days,
            }))}
          />
        </div>
        {rows.length === 0 ? (
          <Empty icon="bars" title={t("admin_margin_none")} text={t("admin_margin_none_hint")} />
        ) : (
          <div class="stack">
            {days > 1 && <MarginChart rows={byDay} since={first} days={days} />}
            <MarginTable group={group} rows={rows} />
          </div>
        )}
        <p class="meta pt">{t("admin_margin_hint")}</p>
      </section>
    </>,
    200,
    rows.length === 0
      ? {}
      : {
          actions: (
            <Link
              class="btn"
              href={`${path}/margins.csv?by=${group}&days=${days}`}
              aria-label={t("admin_margin_csv")}
              icon="down"
              text="CSV"
            />
          ),
        },
  );
}

/** `GET /console/admin/margins/margins.csv?by=&days=`: the table of the API's own path. */
async function download(c: ConsoleContext) {
  const { group, days } = readChoice(c);
  const now = Date.now();
  const query = new URLSearchParams({ from: toDate(startOfDays(days, now)), to: toDate(now), group_by: group, format: "csv" });
  const found = await askAsOperator(c, `/admin/margins?${query}`);
  if (!found.ok) throw new Error(`the gateway answered ${found.status} for margins`);
  const headers = ["content-type", "content-disposition"].map((name): [string, string] => [name, found.headers.get(name) ?? ""]);
  return c.body(await found.text(), 200, Object.fromEntries(headers));
}

export const margins = new Hono<ConsoleEnvironment>().get("/", show).get("/margins.csv", download);

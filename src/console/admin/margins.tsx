/** What the operator earned and paid: by model, route, account or day, over the whole deployment. */

import type { ConsoleContext, ConsoleEnvironment } from "../context.ts";
import { Hono } from "hono";
import { startOfDays } from "../../db/ledger-reports.ts";
import { type Margin, type MarginGroup, readMargins } from "../../db/margins.ts";
import { percentText } from "../amounts.ts";
import { useAround } from "../parts/context.ts";
import { dateText } from "../parts/date-time.tsx";
import { Icon } from "../parts/icon.tsx";
import { Money } from "../parts/money.tsx";
import { Stats, Table } from "../parts/table.tsx";
import { adminPage } from "./frame.tsx";

const path = "/console/admin/margins";
const groups: MarginGroup[] = ["model", "route", "account", "day"];
const periods = [1, 7, 30, 90];

/** The share of the revenue that is left; a dash without revenue. */
const Share = ({ revenue, cost }: Pick<Margin, "revenue" | "cost">) => {
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

/** `GET /console/admin/margins?by=&days=` */
async function show(c: ConsoleContext) {
  const { t, language } = c.var;
  const group = groups.find((one) => one === c.req.query("by")) ?? "model";
  const days = periods.find((one) => String(one) === c.req.query("days")) ?? 30;
  const now = Date.now();
  const rows = await readMargins(c.env.DB, { first: startOfDays(days, now), last: startOfDays(1, now) }, group);
  const total = (of: "revenue" | "cost" | "completed" | "failed" | "uncosted") => rows.reduce((sum, row) => sum + row[of], 0);
  const [revenue, cost, uncosted] = [total("revenue"), total("cost"), total("uncosted")];
  const ended = total("completed") + total("failed");
  return adminPage(
    c,
    t("admin_margins"),
    <>
      <Stats
        of={[
          [t("admin_margin_revenue"), <Money millionths={revenue} />],
          [t("admin_margin_cost"), <Money millionths={cost} />, uncosted > 0 ? t("admin_margin_uncosted", { count: uncosted }) : undefined],
          [t("admin_margin"), <Share revenue={revenue} cost={cost} />, <Money millionths={revenue - cost} />],
          [
            t("admin_margin_ended"),
            ended.toLocaleString(language),
            ended > 0 ? t("admin_margin_completed", { share: percentText(language, total("completed") / ended) }) : undefined,
          ],
        ]}
      />
      <section>
        <div class="sub">
          <nav class="seg sm" aria-label={t("admin_margin_by")}>
            {groups.map((one) => (
              <a href={`${path}?by=${one}&days=${days}`} aria-current={one === group ? "true" : undefined}>
                {t(`admin_margin_by_${one}`)}
              </a>
            ))}
          </nav>
          <nav class="seg sm push" aria-label={t("admin_margin_period")}>
            {periods.map((one) => (
              <a href={`${path}?by=${group}&days=${one}`} aria-current={one === days ? "true" : undefined}>
                {one === 1 ? t("admin_margin_today") : t("admin_margin_days", { days: one })}
              </a>
            ))}
          </nav>
        </div>
        {rows.length === 0 ? (
          <div class="empty">
            <Icon name="bars" />
            <h2>{t("admin_margin_none")}</h2>
            <p>{t("admin_margin_none_hint")}</p>
          </div>
        ) : (
          <Table
            label={t("admin_margins")}
            columns={[
              t(`admin_margin_by_${group}`),
              { name: t("admin_margin_ended"), isNumber: true, isExtra: true },
              { name: t("admin_margin_revenue"), isNumber: true },
              { name: t("admin_margin_cost"), isNumber: true },
              { name: t("admin_margin"), isNumber: true },
              { name: t("admin_margin_uncosted_head"), isNumber: true, isExtra: true },
            ]}
          >
            {rows.map((row) => (
              <tr>
                <th scope="row" class="wrap">
                  <Name group={group} name={row.name} />
                </th>
                <td class="num hide-s">{(row.completed + row.failed).toLocaleString(language)}</td>
                <td class="num">
                  <Money millionths={row.revenue} />
                </td>
                <td class="num">
                  <Money millionths={row.cost} />
                </td>
                <td class="num">
                  <Share revenue={row.revenue} cost={row.cost} />
                </td>
                <td class="num hide-s">{row.uncosted.toLocaleString(language)}</td>
              </tr>
            ))}
          </Table>
        )}
        <p class="meta pt">{t("admin_margin_hint")}</p>
      </section>
    </>,
  );
}

export const margins = new Hono<ConsoleEnvironment>().get("/", show);

/** All models for the operator: state, price, routes, and what ends; filters with counts. */

import type { ConsoleContext } from "../../context.ts";
import { builtInCatalog, isPriced } from "../../../catalog/catalog.ts";
import type { Model } from "../../../catalog/models.ts";
import { shownOwnPrice, shownRule } from "../../../catalog/own-price.ts";
import { shownPrice } from "../../../catalog/prices.ts";
import { readCatalog } from "../../../current-catalog.ts";
import { startOfDays } from "../../../db/ledger-reports.ts";
import { fromUnits } from "../../../db/ledger.ts";
import { type Margin, readMargins } from "../../../db/margins.ts";
import { readRouteHealth } from "../../../db/operator-series.ts";
import { routeName } from "../../../db/settled-sums.ts";
import type { Upstreams } from "../../../rpc/console-api.ts";
import { formatAmount, percentText } from "../../amounts.ts";
import { withQuery } from "../../list-address.ts";
import { listPrices } from "../../models/prices.ts";
import { DataTable, dateText, Empty, Icon, kindIcons, Link, NavLinks, Pill, SearchForm, useAround } from "../../parts/index.ts";
import { adminPage } from "../frame.tsx";
import { Share } from "../margins.tsx";
import { type Health, readHealth, soonMs } from "../route-state.ts";
import { readUpstreams } from "../upstreams.ts";
import { firstRoute, listUnits } from "./earned.tsx";
import { makerPath, path } from "./state.ts";
import { dayMs } from "../../../base/times.ts";

/** The days whose margins and runs the list has. */
const marginDays = 7;

/** A model with what its row says. */
interface Row {
  model: Model;
  health: Health;
  upstreams: Upstreams;
  /** True if the operator has an entry for it. */
  isOwn: boolean;
  /** Its settlements of the last days; undefined without any. */
  margin: Margin | undefined;
  /** True if this release refuses the operator's entry, which stays in use. */
  isRefused: boolean;
  /** How many of the routes in use failed over the whole deployment: nothing or less than half was completed in a day. */
  failing: number;
}

const filters = {
  live: ({ model }: Row) => model.state === "live",
  hidden: ({ model }: Row) => model.state === "hidden",
  changed: ({ isOwn }: Row) => isOwn,
  loses: ({ margin }: Row) => losesMoney(margin),
  unserved: ({ model, health }: Row) => model.state === "live" && health.usable === 0,
  ending: ({ health }: Row) => endsSoon(health),
} as const;
type Filter = keyof typeof filters;

const losesMoney = (margin: Margin | undefined) => margin !== undefined && margin.cost > margin.revenue;

const endsSoon = ({ end }: Health) => end !== undefined && end.at < Date.now() + soonMs;

const pathWith = (asked: { show?: Filter | undefined; q?: string | undefined }) => withQuery(path, { ...asked });

/** What needs attention about a model; nothing while all is well. */
const ModelState = ({ row: { model, health, margin, failing, isRefused } }: { row: Row }) => {
  const { t, language } = useAround();
  if (isRefused) return <Pill icon="bad" tone="bad" text={t("admin_model_refused")} />;
  if (model.state === "hidden") return <Pill icon="ban" text={t("admin_models_hidden")} />;
  if (health.usable === 0) return <Pill icon="bad" tone="bad" text={t("admin_model_unserved")} />;
  if (health.healthy < health.usable)
    return <Pill icon="warn" tone="warn" text={t("admin_model_up", { up: health.healthy, of: health.usable })} />;
  if (failing > 0) return <Pill icon="warn" tone="warn" text={t("admin_model_routes_fail", { count: failing, of: health.usable })} />;
  if (losesMoney(margin)) return <Pill icon="bad" tone="bad" text={t("admin_models_loses")} />;
  if (health.end && endsSoon(health))
    return (
      <Pill
        icon="clock"
        tone={health.end.isLast ? "bad" : "warn"}
        text={t(health.end.isLast ? "admin_model_ends" : "admin_model_route_ends", { day: dateText(language, health.end.at) })}
      />
    );
  return null;
};

/** How a model came to be: a small line below its name. */
const Origin = ({ row: { model, isOwn } }: { row: Row }) => {
  const { t } = useAround();
  const isBuiltIn = builtInCatalog().all.some(({ id }) => id === model.id);
  if (model.own) return <>{t("admin_model_own_input")}</>;
  if (isBuiltIn) return <>{t(isOwn ? "admin_model_changed" : "admin_model_built_in")}</>;
  return <>{model.family === "chat" ? t("admin_model_own") : t("admin_model_like", { model: model.like })}</>;
};

/** Every price with its unit, the first of a model in one line with the others. */
const Prices = ({ c, model }: { c: ConsoleContext; model: Model }) => {
  const { t } = useAround();
  if (!isPriced(model)) return <span class="meta">{t("admin_model_unpriced")}</span>;
  const rule = model.own?.price;
  return (
    <>
      {listPrices(c, rule ? { price: shownOwnPrice(rule), priceRule: rule } : { price: shownPrice(model.price) }).map(([name, amount]) => (
        <div>
          {amount} <span class="meta">{name}</span>
        </div>
      ))}
    </>
  );
};

/** What a unit costs at the route that is tried first, in the order of the prices. */
const Costs = ({ c, row: { model, upstreams } }: { c: ConsoleContext; row: Row }) => {
  const { t } = useAround();
  const price = model.own ? shownRule(model.own.price) : shownPrice(model.price);
  const { route } = firstRoute(upstreams, model.routes);
  const units = listUnits({ price, isOwn: model.own !== undefined }, route).filter(({ value }) => value === undefined);
  if (units.every(({ cost }) => cost === undefined)) return <>{route?.cost ? t("admin_model_as_billed") : "–"}</>;
  return (
    <>
      {units.map(({ cost }) => (
        <div>{cost === undefined ? "–" : formatAmount(c, fromUnits(cost))}</div>
      ))}
    </>
  );
};

const Rows = ({ c, rows }: { c: ConsoleContext; rows: Row[] }) => {
  const { t, language } = useAround();
  return (
    <DataTable
      label={t("models")}
      class="priced"
      rows={rows}
      columns={[
        {
          name: t("model"),
          cell: (row) => (
            <span class="thing">
              <Icon name={kindIcons[row.model.family]} />
              <span>
                <a class="clip" href={`${path}/${encodeURIComponent(row.model.id)}`}>
                  {row.model.id}
                </a>
                <span class="meta">
                  {row.model.title !== undefined && `${row.model.title} · `}
                  <Origin row={row} />
                </span>
                <span class="only-s">
                  <ModelState row={row} />
                  {row.margin && (
                    <span class="meta">
                      {t("admin_margin")} <Share {...row.margin} />
                    </span>
                  )}
                </span>
              </span>
            </span>
          ),
        },
        { name: t("state"), isExtra: true, cell: (row) => <ModelState row={row} /> },
        { name: t("price"), isNumber: true, cell: ({ model }) => <Prices c={c} model={model} /> },
        { name: t("admin_margin_cost"), isNumber: true, isExtra: true, cell: (row) => <Costs c={c} row={row} /> },
        { name: t("admin_margin"), isNumber: true, isExtra: true, cell: ({ margin }) => (margin ? <Share {...margin} /> : "–") },
        {
          name: t("usage_runs"),
          isNumber: true,
          isExtra: true,
          cell: ({ margin }) => (margin ? (margin.completed + margin.failed).toLocaleString(language) : "–"),
        },
        {
          name: t("completed"),
          isNumber: true,
          isExtra: true,
          cell: ({ margin }) => (margin ? percentText(language, margin.completed / (margin.completed + margin.failed)) : "–"),
        },
        {
          name: t("admin_routes"),
          isExtra: true,
          class: "wrap",
          cell: ({ health: { usable, routes } }) => (
            <>
              {usable} / {routes.length}
              <div class="meta">
                {[...new Set(routes.filter(({ state }) => ["used", "last"].includes(state)).map(({ route }) => route.provider))].join(", ")}
              </div>
            </>
          ),
        },
      ]}
    />
  );
};

/** Whether a model is named by the text, or one of its routes. */
const isFound = ({ model: { id, title = "", aliases, routes } }: Row, text: string) =>
  [id, title, ...aliases, ...routes.flatMap(({ provider, model }) => [provider, model])].some((name) => name.toLowerCase().includes(text));

/** `GET /console/admin/models?show=&q=` */
export async function listModels(c: ConsoleContext) {
  const { t } = c.var;
  const q = c.req.query("q")?.trim() || undefined;
  const removedNow = c.req.query("removed");
  const show = Object.keys(filters).find((name): name is Filter => name === c.req.query("show"));
  // From the database itself: this isolate may not have seen a change that an admin has just made.
  const now = Date.now();
  const week = { first: startOfDays(marginDays, now), last: startOfDays(1, now) };
  const [upstreams, catalog, margins, routes] = await Promise.all([
    readUpstreams(c),
    readCatalog(c.env.DB),
    readMargins(c.env.DB, week, "model"),
    readRouteHealth(c.env.DB, now - dayMs, now),
  ]);
  const marginOf = new Map(margins.map((margin) => [margin.name, margin]));
  const failing = new Set(routes.flatMap(({ provider, model, state }) => (state === "ok" ? [] : [`${provider} ${model}`])));
  const own = new Set(catalog.stored.filter(({ isRemoved }) => !isRemoved).map(({ entry }) => entry.id));
  const all = catalog.all
    .filter(({ state }) => state !== "removed")
    .map((model): Row => {
      const health = readHealth(upstreams, model.routes);
      const isUsed = (at: number) => ["used", "last"].includes(health.routes[at]?.state ?? "");
      return {
        model,
        health,
        upstreams,
        isOwn: own.has(model.id),
        margin: marginOf.get(model.id),
        isRefused: upstreams.refused?.[model.id] !== undefined,
        failing: model.routes.filter((route, at) => isUsed(at) && failing.has(routeName(route))).length,
      };
    });
  const found = q === undefined ? all : all.filter((row) => isFound(row, q.toLowerCase()));
  const rows = show === undefined ? found : found.filter(filters[show]);
  const removed = catalog.stored.filter(({ entry, isRemoved }) => isRemoved && !builtInCatalog().all.some(({ id }) => id === entry.id));
  return adminPage(
    c,
    t("models"),
    <>
      <NavLinks
        class="chips made"
        label={t("models")}
        of={[
          { path: pathWith({ q }), text: t("any_kind"), count: found.length, isHere: show === undefined },
          ...(Object.keys(filters) as Filter[]).map((name) => ({
            path: pathWith({ show: name, q }),
            text: t(`admin_models_${name}`),
            count: found.filter(filters[name]).length,
            isHere: show === name,
          })),
        ]}
      />
      {rows.length === 0 ? (
        <Empty icon="search" title={t("admin_models_none")}>
          <Link class="btn" href={path} text={t("model_all")} />
        </Empty>
      ) : (
        <Rows c={c} rows={rows} />
      )}
      <p class="meta pt">
        {t("admin_models_days", { days: marginDays })} {t("admin_models_live_soon")}
      </p>
      {removed.length > 0 && (
        <p class="meta">
          {t("admin_models_removed")}:{" "}
          {removed.map(({ entry: { id } }, at) => (
            <>
              {at > 0 && ", "}
              <a href={`${path}/${encodeURIComponent(id)}`}>{id}</a>
            </>
          ))}
        </p>
      )}
    </>,
    200,
    {
      actions: (
        <>
          <SearchForm path={path} filters={{ q, show }} name="q" label={t("admin_models_search")} maxlength={100} />
          <Link class="btn" href={makerPath} icon="down" text={t("admin_maker_add")} />
          <Link class="btn primary" href={`${path}/_new`} icon="plus" text={t("add_model")} />
        </>
      ),
      toast: removedNow === undefined ? undefined : t("admin_model_entry_removed", { model: removedNow }),
    },
  );
}

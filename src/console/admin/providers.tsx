/** Providers, and each model's routes in order, as configured and with their current state. */

import type { ConsoleContext, ConsoleEnvironment } from "../context.ts";
import { formatAmount } from "../amounts.ts";
import { readRouteHealth, type RouteHealth } from "../../db/operator-series.ts";
import { HealthState, healthColumns } from "./health.tsx";
import { DataTable, Facts, Note, Pill, SectionHead, useAround } from "../parts/index.ts";
import { Hono } from "hono";
import { builtInCatalog, isPriced } from "../../catalog/catalog.ts";
import type { Model } from "../../catalog/models.ts";
import { shownPrice } from "../../catalog/prices.ts";
import { liveCatalog } from "../../current-catalog.ts";
import { fromUnits } from "../../db/ledger.ts";
import { adminPage } from "./frame.tsx";
import { routeState } from "./route-state.ts";
import { readUpstreams } from "./upstreams.ts";
import type { PriceName } from "../models/prices.ts";
import { dayMs } from "../../base/times.ts";

/** How each route did over all isolates, the worst first: a provider that only fails is not hidden by an isolate that has not asked it. */
const HealthSection = ({ routes }: { routes: RouteHealth[] }) => {
  const around = useAround();
  const { t } = around;
  const worst = routes.toSorted((a, b) => b.failures / b.calls - a.failures / a.calls);
  return (
    <section>
      <SectionHead title={t("admin_health")} />
      <DataTable
        label={t("admin_health")}
        none={t("admin_health_none")}
        rows={worst}
        columns={[
          {
            name: t("admin_provider"),
            class: "wrap",
            cell: ({ provider, model }) => (
              <>
                {provider} <span class="meta">{model}</span>
              </>
            ),
          },
          { name: t("state"), cell: (route) => <HealthState of={route} /> },
          ...healthColumns(around),
        ]}
      />
    </section>
  );
};

/** The model's price, and the built-in price if the operator changed it. */
const Prices = ({ c, model }: { c: ConsoleContext; model: Model }) => {
  const { t } = c.var;
  const builtIn = shownPrice((builtInCatalog().named(model.id) ?? model).price);
  const amount = (units: number | undefined) => formatAmount(c, fromUnits(units ?? 0));
  return (
    <Facts
      of={Object.entries(shownPrice(model.price)).map(([name, units]) => [
        t(`model_price_${name as PriceName}`),
        <>
          {amount(units)}
          {builtIn[name] !== undefined && units !== builtIn[name] && (
            <span class="meta"> {t("admin_price_own", { price: amount(builtIn[name]) })}</span>
          )}
        </>,
      ])}
    />
  );
};

async function list(c: ConsoleContext) {
  const { t } = c.var;
  const now = Date.now();
  const [upstreams, catalog, health] = await Promise.all([
    readUpstreams(c),
    liveCatalog(c.env.DB),
    readRouteHealth(c.env.DB, now - dayMs, now),
  ]);
  const models = catalog.all.filter((model) => model.state !== "removed" && isPriced(model));
  const isUsable = (model: Model) => model.routes.some((route) => ["used", "last"].includes(routeState(upstreams, model.routes, route)));
  return adminPage(
    c,
    t("admin_providers"),
    <>
      <DataTable
        label={t("admin_providers")}
        rows={upstreams.providers}
        columns={[
          { name: t("admin_provider"), cell: ({ name }) => name },
          {
            name: t("admin_switched"),
            class: "wrap",
            cell: ({ on }) => (on ? <Pill icon="ok" tone="good" text={t("admin_on")} /> : <span class="muted">{t("admin_off")}</span>),
          },
          { name: t("state"), class: "wrap", cell: ({ on, aside }) => (on ? t(aside ? "admin_aside" : "admin_route_used") : "–") },
        ]}
      />
      <p class="hint gap0">{t("admin_here_hint")}</p>
      <HealthSection routes={health} />
      <section>
        <SectionHead title={t("admin_routes")} />
        <div class="cols routed">
          {models.map((model) => (
            <section class="card stack tight">
              <h3>{model.id}</h3>
              <Prices c={c} model={model} />
              {!isUsable(model) && (
                <Note tone="warn" role="alert">
                  {t("admin_not_served")}
                </Note>
              )}
              <ol class="routes t13">
                {model.routes.map((route) => (
                  <li>
                    <span>{route.provider}</span>
                    <code title={route.model}>{route.model}</code>
                    <span class="meta">{t(`admin_route_${routeState(upstreams, model.routes, route)}`, { day: route.retires ?? "" })}</span>
                  </li>
                ))}
              </ol>
            </section>
          ))}
        </div>
      </section>
    </>,
  );
}

export const providers = new Hono<ConsoleEnvironment>().get("/", list);

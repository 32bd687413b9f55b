/** Providers, and each model's routes in order, as configured and with their current state. */

import { formatAmount } from "../amounts.ts";
import { Note } from "../parts/note.tsx";
import { Pill } from "../parts/status.tsx";
import { Hono } from "hono";
import { allModels, type Model } from "../../catalog/models.ts";
import { effectivePrice, type PriceOverrides, shownPrice } from "../../catalog/prices.ts";
import { configuredRoutes, type Route, routesFor } from "../../catalog/routes.ts";
import type { Upstreams } from "../api.ts";
import { type ConsoleContext, type ConsoleEnvironment } from "../frame.tsx";
import { adminPage } from "./frame.tsx";
import type { PriceName } from "../models/prices.ts";
import { Facts, Table } from "../parts/table.tsx";

/** The state of a route: `used` in order, `last` while its provider is unhealthy, `off` without a secret, `beside` a real provider. */
function standing({ providers, routes }: Upstreams, model: string, route: Route): "used" | "last" | "off" | "beside" {
  const provider = providers.find(({ name }) => name === route.provider);
  if (!provider?.on) return "off";
  const isOn = (name: string) => providers.some((other) => other.name === name && other.on);
  if (!routesFor(model, routes, isOn).some((usable) => usable.provider === route.provider)) return "beside";
  return provider.aside ? "last" : "used";
}

/** The model's price, and the catalog's price if the operator changed it. */
const Prices = ({ c, model, overrides }: { c: ConsoleContext; model: Model; overrides: PriceOverrides }) => {
  const { t } = c.var;
  const own = shownPrice(model.price);
  const amount = (units: number | undefined) => formatAmount(c, Math.round((units ?? 0) * 1e6));
  return (
    <Facts
      of={Object.entries(shownPrice(effectivePrice(model, overrides))).map(([name, units]) => [
        t(`model_price_${name as PriceName}`),
        <>
          {amount(units)}
          {units !== own[name] && <span class="meta"> {t("admin_price_own", { price: amount(own[name]) })}</span>}
        </>,
      ])}
    />
  );
};

async function list(c: ConsoleContext) {
  const { t } = c.var;
  const upstreams = await c.env.API.upstreams();
  const isUsable = (model: string) =>
    configuredRoutes(model, upstreams.routes).some((route) => ["used", "last"].includes(standing(upstreams, model, route)));
  return adminPage(
    c,
    t("admin_providers"),
    <>
      <Table label={t("admin_providers")} columns={[t("admin_provider"), t("admin_switched"), t("admin_here")]}>
        {upstreams.providers.map((provider) => (
          <tr>
            <th scope="row">{provider.name}</th>
            <td class="wrap">
              {provider.on ? <Pill icon="ok" tone="good" text={t("admin_on")} /> : <span class="muted">{t("admin_off")}</span>}
            </td>
            <td class="wrap">{provider.on ? t(provider.aside ? "admin_aside" : "admin_asked") : "–"}</td>
          </tr>
        ))}
      </Table>
      <p class="hint gap0">{t("admin_here_hint")}</p>
      <section>
        <div class="sub">
          <h2>{t("admin_routes")}</h2>
        </div>
        <div class="cols routed">
          {allModels().map((model) => (
            <section class="card stack tight">
              <h3>{model.id}</h3>
              <Prices c={c} model={model} overrides={upstreams.prices} />
              {!isUsable(model.id) && (
                <Note tone="warn" role="alert">
                  {t("admin_not_served")}
                </Note>
              )}
              <ol class="routes t13">
                {configuredRoutes(model.id, upstreams.routes).map((route) => (
                  <li>
                    <span>{route.provider}</span>
                    <code title={route.model}>{route.model}</code>
                    <span class="meta">{t(`admin_route_${standing(upstreams, model.id, route)}`)}</span>
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

/** Providers, and each model's routes in the order they are tried, as configured and as they stand. */

import { Table } from "../parts.tsx";
import { amountOf } from "../amounts.ts";
import { Hono } from "hono";
import { allModels } from "../../catalog/models.ts";
import { effectivePrice, shownPrice } from "../../catalog/prices.ts";
import { configuredRoutes, type Route, routesFor } from "../../catalog/routes.ts";
import type { Upstreams } from "../api.ts";
import { type ConsoleContext, type ConsoleEnvironment } from "../frame.tsx";
import { adminPage } from "./frame.tsx";

type PriceName = "image" | "image_hd" | "second" | "second_1080p" | "character" | "input_million_tokens" | "output_million_tokens";

/** How a route stands: `used` in its turn, `last` while its provider is put aside, `off` without a secret, `beside` a real provider. */
function standing({ providers, routes }: Upstreams, model: string, route: Route): "used" | "last" | "off" | "beside" {
  const provider = providers.find(({ name }) => name === route.provider);
  if (!provider?.on) return "off";
  const isOn = (name: string) => providers.some((other) => other.name === name && other.on);
  if (!routesFor(model, routes, isOn).some((usable) => usable.provider === route.provider)) return "beside";
  return provider.aside ? "last" : "used";
}

async function list(c: ConsoleContext) {
  const { say } = c.var;
  const upstreams = await c.env.API.upstreams();
  const isUsable = (model: string) =>
    configuredRoutes(model, upstreams.routes).some((route) => ["used", "last"].includes(standing(upstreams, model, route)));
  return adminPage(
    c,
    say("admin_providers"),
    <>
      <Table label={say("admin_providers")} columns={[say("admin_provider"), say("admin_switched"), say("admin_here")]}>
        {upstreams.providers.map((provider) => (
          <tr>
            <th scope="row">{provider.name}</th>
            <td>{say(provider.on ? "admin_on" : "admin_off")}</td>
            <td>{provider.on ? say(provider.aside ? "admin_aside" : "admin_asked") : "–"}</td>
          </tr>
        ))}
      </Table>
      <p>{say("admin_here_hint")}</p>
      <h2>{say("admin_routes")}</h2>
      {allModels().map((model) => (
        <section>
          <h3>{model.id}</h3>
          <p>
            {Object.entries(shownPrice(effectivePrice(model, upstreams.prices)))
              .map(([name, units]) => `${say(`admin_price_${name as PriceName}`)} ${amountOf(c, Math.round(units * 1e6))}`)
              .join(" · ")}
          </p>
          {!isUsable(model.id) && <p role="alert">{say("admin_not_served")}</p>}
          <ol>
            {configuredRoutes(model.id, upstreams.routes).map((route) => (
              <li>
                {route.provider} · <code>{route.model}</code> · {say(`admin_route_${standing(upstreams, model.id, route)}`)}
              </li>
            ))}
          </ol>
        </section>
      ))}
    </>,
  );
}

export const providers = new Hono<ConsoleEnvironment>().get("/", list);

/** What a unit of a model earns: its price, less the cost at the first route in use. */

import type { Route } from "../../../catalog/models.ts";
import { reportedCosts, splitCost } from "../../../catalog/cost-parts.ts";
import { toMillionths } from "../../../catalog/millionths.ts";
import type { OwnPrice } from "../../../catalog/own-price.ts";
import { shownPrice } from "../../../catalog/prices.ts";
import { fromUnits } from "../../../db/ledger.ts";
import type { Upstreams } from "../../../rpc/console-api.ts";
import type { PriceName } from "../../models/prices.ts";
import { fullAmount } from "../../amounts.ts";
import { useAround } from "../../parts/context.ts";
import { Share } from "../margins.tsx";
import { readHealth } from "../route-state.ts";

/** Prices in balance units as `/v1/models` shows them, or the rule of an own input. */
export interface Sold {
  price: Record<string, number> | OwnPrice;
  isOwn: boolean;
  routes: readonly Pick<Route, "provider" | "model" | "retires" | "cost">[];
}

/** The price and cost of a unit in balance units; the cost is undefined if it is not known before the maker reports it. */
interface Unit {
  name: PriceName;
  /** A field of an own input, and the value that has another price. */
  value?: { field: string; value: string };
  price: number;
  cost: number | undefined;
}

/** The route that a request tries first, and its number; the first of all if none is in use. */
export function firstRoute(upstreams: Upstreams, routes: Sold["routes"]) {
  const at = Math.max(
    0,
    readHealth(upstreams, routes).routes.findIndex(({ state }) => state === "used"),
  );
  return { number: at + 1, route: routes[at] };
}

/** The units of a model's price with their cost at a route. */
export function listUnits({ price, isOwn }: Pick<Sold, "price" | "isOwn">, { cost = {} }: Pick<Route, "cost"> = {}): Unit[] {
  const { own, reported } = splitCost(cost);
  const isReported = reportedCosts.some((name) => reported[name] !== undefined);
  if (!isOwn) {
    // Of chats the tokens that the maker reports are the units themselves.
    const isChat = "input_million_tokens" in price;
    const costs = isReported && !isChat ? {} : shownPrice(toMillionths(cost as Record<string, number>));
    const units = Object.entries(price as Record<string, number>);
    // A model that has no price yet has the units of its costs.
    return (units.length > 0 ? units : Object.keys(costs).map((name) => [name, 0] as const)).map(([name, each]) => ({
      name: name as PriceName,
      price: each,
      cost: costs[name] ?? (name === "second_1080p" ? costs["second"] : undefined),
    }));
  }
  const rule = price as OwnPrice;
  const name = (["task", "image", "second"] as const).find((one) => rule[one] !== undefined);
  if (!name) return [];
  const [each, amount] = [rule[name] ?? 0, own?.[name]];
  const costs = isReported || typeof amount !== "number" ? undefined : own;
  const factor = (of: OwnPrice | undefined, field: string, value: string) =>
    of?.factors?.[field]?.[value] ?? of?.factors?.[field]?.["*"] ?? 1;
  const fields = Object.entries({ ...rule.factors, ...costs?.factors });
  const values = fields.flatMap(([field, all]) => Object.keys(all).map((value) => ({ field, value })));
  const units = values.map((value): Unit => ({
    name,
    value,
    price: each * factor(rule, value.field, value.value),
    cost: costs && (amount as number) * factor(costs, value.field, value.value),
  }));
  const isPlain = ({ price: one, cost: other }: Unit) => one === each && other === (costs && amount);
  return [{ name, price: each, cost: costs && amount }, ...units.filter((unit) => !isPlain(unit))];
}

/** Rows of a card. */
const maxUnits = 8;

/** The card beside an entry. */
export const Earned = ({ sold, upstreams }: { sold: Sold; upstreams: Upstreams }) => {
  const { t, language, unit } = useAround();
  const text = (units: number) => fullAmount(language, unit, fromUnits(units));
  const { number, route } = firstRoute(upstreams, sold.routes);
  const units = listUnits(sold, route).slice(0, maxUnits);
  if (!route || units.length === 0) return null;
  return (
    <section class="card">
      <header>
        <h2>{t("admin_model_earned")}</h2>
        <span class="meta push">{t("admin_model_earned_at", { number })}</span>
      </header>
      <dl class="earned">
        {units.map(({ name, value, price, cost }) => (
          <div>
            <dt>{value ? t("price_with", value) : t(`model_price_${name}`)}</dt>
            <dd>
              {text(price)} − {cost === undefined ? "?" : text(cost)}
              {cost !== undefined && (
                <>
                  {" = "}
                  <Share revenue={price} cost={cost} />
                </>
              )}
            </dd>
          </div>
        ))}
      </dl>
      {units.some(({ cost }) => cost === undefined) && <p class="meta">{t("admin_model_cost_unknown")}</p>}
    </section>
  );
};

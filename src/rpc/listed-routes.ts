/** What is known of the ends of all routes: the days that entries of models state, and those in the makers' lists of models. */

import type { Route } from "../catalog/models.ts";
import { liveCatalog } from "../current-catalog.ts";
import { alert } from "../base/log.ts";
import { isOn, providerNamed } from "../providers/index.ts";
import type { ListedModel } from "../providers/provider.ts";

/** A route whose provider is switched on. */
export interface ListedRoute {
  provider: string;
  model: string;
  /** The earliest day of its end that is known, `2027-01-14`. */
  retires?: string;
  /** True if the maker's list lacks the model. */
  gone: boolean;
}

/** Asks the makers that have a list about each upstream model of the routes, one after the other. A maker that does not answer is logged, and says nothing about its models. */
export async function listRoutes(env: Env): Promise<ListedRoute[]> {
  const { live } = await liveCatalog(env.DB);
  const all = live.flatMap(({ routes }) => routes);
  const distinct = new Map<string, Route>();
  for (const route of all.filter(({ provider }) => isOn(env, provider))) {
    const name = `${route.provider} ${route.model}`;
    const known = distinct.get(name);
    if (!known || (route.retires ?? "9") < (known.retires ?? "9")) distinct.set(name, route);
  }
  const listed: ListedRoute[] = [];
  for (const { provider, model, retires } of distinct.values()) {
    const found = await lookUp(env, provider, model);
    const [first] = [retires, found?.retires].filter((day) => day !== undefined).sort();
    listed.push({ provider, model, gone: found?.gone === true, ...(first !== undefined && { retires: first }) });
  }
  return listed;
}

async function lookUp(env: Env, provider: string, model: string): Promise<ListedModel | undefined> {
  try {
    return await providerNamed(env, provider).lookUpModel?.(model);
  } catch (error) {
    alert("models", { provider, outcome: "not_listed" }, error);
    return undefined;
  }
}

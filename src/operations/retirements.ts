/** The ends of upstream models: the makers' lists are read once a day, and each end is announced 30 days, 7 days and a day before. */

import { dayMs, hourMs } from "../base/times.ts";
import { endOfRoute, hasEnded } from "../catalog/routes.ts";
import { readJob, writeJob } from "../db/jobs.ts";
import type { ListedRoute } from "../rpc/listed-routes.ts";
import type { Objects } from "../rpc/objects.ts";

const noticeDays = [30, 7, 1];
/** How long a notice lasts: so short that the notice for another model's end a day later is a new alert. */
const noticeMs = 12 * hourMs;
/** After a run in which the lists could not be read. */
const retryMs = hourMs;

interface State {
  /** When the lists are to be read again, in milliseconds. */
  next: number;
  routes: ListedRoute[];
}

/** The routes as the makers listed them within the last day. */
export async function readListed(
  { DB: db }: Pick<OperationsBindings, "DB">,
  objects: Pick<Objects, "listRoutes">,
  now: number,
): Promise<ListedRoute[]> {
  const known = await readJob<State>(db, "models");
  if (known && now < known.next) return known.routes;
  // Before the makers are asked: a run that is cut off is not repeated every five minutes.
  await writeJob(db, "models", { next: now + retryMs, routes: known?.routes ?? [] } satisfies State);
  const routes = await objects.listRoutes();
  await writeJob(db, "models", { next: now + dayMs, routes } satisfies State);
  return routes;
}

/** The causes of the alerts about these routes. Pure. */
export function retirementCauses(routes: ListedRoute[], now: number): { route_retiring: string[]; model_gone: string[] } {
  const isNoticed = (route: ListedRoute) => {
    const end = endOfRoute(route) ?? Infinity;
    return noticeDays.some((days) => now >= end - days * dayMs && now < end - days * dayMs + noticeMs);
  };
  // A route that has ended is passed over, so that its model may be gone.
  const gone = routes.filter((route) => route.gone && !hasEnded(route, now));
  return {
    route_retiring: routes.filter(isNoticed).map(({ provider, model, retires }) => `${provider} ${model} ${retires}`),
    model_gone: gone.map(({ provider, model }) => `${provider} ${model}`),
  };
}

/** The providers as the whole deployment sees them: one that any isolate put aside counts as put aside. */

import type { ConsoleContext } from "../context.ts";
import { incidentsSince } from "../../db/alerts.ts";
import type { Upstreams } from "../../rpc/console-api.ts";

/** Isolates put a provider aside for a minute each time, and record it. */
const asideMs = 10 * 60_000;
const most = 50;

export async function readUpstreams(c: ConsoleContext): Promise<Upstreams> {
  const [upstreams, failed] = await Promise.all([c.env.API.upstreams(), incidentsSince(c.env.DB, "provider", Date.now() - asideMs, most)]);
  return {
    ...upstreams,
    providers: upstreams.providers.map((one) => ({
      ...one,
      aside: one.aside || failed.some((account) => account.split(" ")[0] === one.name),
    })),
  };
}

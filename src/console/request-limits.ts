/** How many requests users and visitors may send in a minute: each one asks D1, which answers one query at a time for all accounts. */

import type { ConsoleContext } from "./context.ts";
import { toNetwork } from "../net/ip-address.ts";

/** Thrown at one request too many, before anything is read or changed for it. */
export class TooMany extends Error {}

/** Counts a page or a form of a signed-in user. The playground sends a form at each pause while someone types: it writes nothing itself, and counts as a page. */
export const countUser = (c: ConsoleContext, userId: string): Promise<void> =>
  count(c.req.method === "POST" && c.req.path !== "/console/playground" ? c.env.FORMS : c.env.PAGES, userId);

/** The network of a client, by which limits count. */
export const network = (c: ConsoleContext): string => toNetwork(c.req.header("cf-connecting-ip") ?? "unknown");

/** Counts a sign-in, or the look-up of an invitation or link, of a network: whoever sends it needs no session. Once for each request, so that none breaks off halfway. */
export async function countVisit(c: ConsoleContext): Promise<void> {
  if (c.var.isVisit) return;
  await count(c.env.VISITS, network(c));
  c.set("isVisit", true);
}

async function count(limit: RateLimit, key: string): Promise<void> {
  if (!(await limit.limit({ key })).success) throw new TooMany("too many requests");
}

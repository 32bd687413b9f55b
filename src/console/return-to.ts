/** The page that a visitor requested before the sign-in page. */

import type { ConsoleContext } from "./context.ts";

/** A longer address would be refused by browsers or proxies. While a browser is at the provider of a login, it is stored. */
const maxLength = 8_000;

/** A page of this console or of the documentation: path and query, or undefined for anything else, including the pages to sign in and out. */
export function pageOfConsole(c: ConsoleContext, text: string | undefined): string | undefined {
  const { origin } = new URL(c.req.url);
  const to = text === undefined || text === "" || text.length > maxLength ? null : URL.parse(text, origin);
  if (to?.origin !== origin || !/^\/(console|docs)(\/|$)/.test(to.pathname)) return undefined;
  return /^\/console\/(sign-|forgot|reset|auth|login|language|theme|static)/.test(to.pathname) ? undefined : to.pathname + to.search;
}

/** The page of a request; for a form, the page that contains it. */
export const wantedPage = (c: ConsoleContext): string | undefined =>
  pageOfConsole(c, c.req.method === "GET" ? (c.req.header("hx-current-url") ?? c.req.url) : c.req.header("referer"));

/** A path with the return path: `/console/sign-in?to=%2Fconsole%2Fkeys`. */
export function withReturn(path: string, to: string | undefined): string {
  return to === undefined || to === "/console" ? path : `${path}${path.includes("?") ? "&" : "?"}to=${encodeURIComponent(to)}`;
}

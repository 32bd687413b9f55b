/** Calls better-auth's own endpoints, which are not exposed, so that attempts are counted per network. */

import type { ConsoleContext } from "./context.ts";
import { authPath } from "./auth/logins.ts";
import { authSettings } from "./frame.tsx";
import { countVisit } from "./request-limits.ts";

/** Calls an endpoint: by POST with a body, else by GET. Only headers that identify the client are passed on. Throws `TooMany`: better-auth's own counters are rows of D1. */
export async function askAuth(c: ConsoleContext, path: string, body?: object): Promise<Response> {
  await countVisit(c);
  const { origin } = new URL(c.req.url);
  const headers = new Headers({ "content-type": "application/json", origin });
  for (const name of ["cookie", "cf-connecting-ip", "user-agent"]) {
    const value = c.req.header(name);
    if (value !== undefined) headers.set(name, value);
  }
  return c.env.AUTH.handle(
    authSettings(c),
    new Request(`${origin}${authPath}${path}`, body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers }),
  );
}

/** Passes the cookies that better-auth set to the browser. */
export function passCookies(c: ConsoleContext, answer: Response): void {
  for (const cookie of answer.headers.getSetCookie()) c.header("set-cookie", cookie, { append: true });
}

/** Redirects to a page with the cookies that better-auth set. */
export function follow(c: ConsoleContext, answer: Response, to: string): Response {
  passCookies(c, answer);
  return c.redirect(to, 303);
}

/** Asks better-auth's own endpoints, which nobody else reaches, so that attempts are counted by network. */

import { authPath } from "./auth.ts";
import type { ConsoleContext } from "./frame.tsx";

/** Asks an endpoint: with a body by POST, else by GET. Only what identifies the asker goes along. */
export function askAuth(c: ConsoleContext, path: string, body?: object): Promise<Response> {
  const { origin } = new URL(c.req.url);
  const headers = new Headers({ "content-type": "application/json", origin });
  for (const name of ["cookie", "cf-connecting-ip", "user-agent"]) {
    const value = c.req.header(name);
    if (value !== undefined) headers.set(name, value);
  }
  return c
    .get("auth")
    .handler(new Request(`${origin}${authPath}${path}`, body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers }));
}

/** The cookies that better-auth set go on to the browser. */
export function passCookies(c: ConsoleContext, answer: Response): void {
  for (const cookie of answer.headers.getSetCookie()) c.header("set-cookie", cookie, { append: true });
}

/** On to a page with the cookies that better-auth set. */
export function follow(c: ConsoleContext, answer: Response, to: string): Response {
  passCookies(c, answer);
  return c.redirect(to, 303);
}

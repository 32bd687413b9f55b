/** Calls of the gateway's API. Paths begin with a slash. */

import type { Caller } from "../db/callers.ts";
import type { ConsoleContext } from "./context.ts";
import { actor } from "./frame.tsx";
import { toJson } from "./playground/image-file.ts";

/** The request, in the page's language. */
function toRequest(c: ConsoleContext, path: string, init: RequestInit): Request {
  const headers = new Headers(init.headers);
  headers.set("accept-language", c.var.language);
  const address = c.req.header("cf-connecting-ip");
  if (address !== undefined) headers.set("cf-connecting-ip", address);
  return new Request(new URL(path, c.req.url), { ...init, headers });
}

/** Calls the gateway as the signed-in user, or as another caller. */
export const askGateway = (c: ConsoleContext, path: string, init: RequestInit = {}, caller: Caller = c.var.caller): Promise<Response> =>
  c.env.API.ask(caller, toRequest(c, path, init));

/** Calls a path of `/admin`; the audit log names the admin. */
export const askAsOperator = (c: ConsoleContext, path: string, init: RequestInit = {}): Promise<Response> =>
  c.env.API.askAsOperator(toRequest(c, path, init), actor(c));

/** A call with a JSON body. With an idempotency key it is done once, however often it is sent. */
export const withJson = (method: "POST" | "PUT", body: object, key?: string): RequestInit => ({
  method,
  headers: { "content-type": "application/json", ...(key !== undefined && key !== "" && { "idempotency-key": key }) },
  body: toJson(body),
});

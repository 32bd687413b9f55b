/** Large bodies arrive at the gateway before they are read here: a slow caller, and one without a key, holds nothing that others need. */

import type { AppContext, AppEnv } from "./context.ts";
import type { MiddlewareHandler } from "hono";
import type { Receive } from "../../rpc/gateway-api.ts";
import { refuse, refuseLike } from "./errors.ts";
import { isForm } from "./form.ts";
import { isLarge, maxBodyBytes } from "./turns.ts";

/** Replaces a large body by the same body once it has arrived completely, with its length. Throws 401, 408, 413 and 503. */
export const arrive: MiddlewareHandler<AppEnv> = async (c, next) => {
  const { body } = c.req.raw;
  const isTooLarge = Number(c.req.header("content-length") ?? 0) > maxBodyBytes; // refused by its path, without being read
  if (!body || !isLarge(c) || isTooLarge) return next();
  const arrived = await receive(c, c.env.RECEIVE, body);
  c.req.raw = arrived;
  await next();
  // A refused request does not read its body: what was collected for it is freed.
  if (!arrived.bodyUsed) await arrived.body?.cancel();
};

async function receive(c: AppContext, request: Receive, body: ReadableStream<Uint8Array>): Promise<Request> {
  const account = await c.env.API.account();
  // The gateway has the errors for requests without a valid key.
  if (account === undefined) await c.var.gateway.ask("/v1/key");
  const received = await request(account ?? "unknown", body, maxBodyBytes);
  if (!received.ok) {
    const code = await received.text();
    throw code === "body_too_large" && isForm(c) ? refuse(c, 413, "form_too_large") : refuseLike(c, received.status, code);
  }
  const headers = new Headers(c.req.raw.headers);
  headers.set("content-length", received.headers.get("content-length") ?? "");
  return new Request(c.req.raw, { method: "POST", headers, body: received.body });
}

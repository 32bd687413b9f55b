/** Forwards requests to the Workers behind the gateway: the console, OpenAI's paths and MCP. */

import { receiver } from "./request/arrival.ts";
import { answerPlain, passOn } from "./request/answer.ts";
import { admit, authenticate, noKey } from "./request/auth.ts";
import type { AppContext } from "./request/context.ts";
import { onError, pathNotFound } from "./request/errors.ts";
import { markAsPart, markOpenAi } from "./request/origin.ts";
import { ApiError } from "../base/errors.ts";
import { liveCatalog } from "../current-catalog.ts";
import { ConsoleApi } from "../rpc/console-api.ts";
import { GatewayApi, type Refusal } from "../rpc/gateway-api.ts";

/** Answers a request as this gateway. */
type Gateway = (request: Request) => Promise<Response>;

export async function openConsole(c: AppContext, gateway: Gateway): Promise<Response> {
  if (!c.env.CONSOLE) throw pathNotFound(c);
  return passOn(c, await c.env.CONSOLE.open(c.req.raw, new ConsoleApi(c.env, gateway), receiver(c.env.ASSETS, c.executionCtx)));
}

/** True if a browser opens the address itself, and there is a console to answer it with a page. Images of a page do not accept HTML. */
export const wantsPage = (c: AppContext): boolean =>
  c.env.CONSOLE !== undefined && c.req.method === "GET" && (c.req.header("accept")?.includes("text/html") ?? false);

/** Browsers get a page; programs get links to other paths. */
export function showRoot(c: AppContext, gateway: Gateway): Response | Promise<Response> {
  if (wantsPage(c)) return openConsole(c, gateway);
  const at = (path: string) => new URL(path, c.get("url")).href;
  const pages = c.env.CONSOLE && { docs: at("/docs"), openapi: at("/openapi.json"), llms: at("/llms.txt") };
  const links = { object: "gateway", api: at("/v1"), models: at("/v1/models"), health: at("/healthz"), ...pages };
  return answerPlain(c, links, 200, { vary: "Accept" });
}

/** Forwards a request to the Worker of a binding with the API for callers; 404 if the Worker is not deployed. */
export async function openWorker(c: AppContext, gateway: Gateway, binding: "OPENAI" | "MCP"): Promise<Response> {
  const worker = c.env[binding];
  if (!worker) throw new ApiError("not_found");
  // OpenAI's paths are counted by the requests that they make; some of the requests of agents make none.
  if (binding === "MCP") await admit(c, "read");
  // If the caller disconnects, the forwarded request is aborted too.
  const { signal } = c.req.raw;
  // Before that Worker reads or stores anything. It puts the refusal into its own format.
  const refusal = binding === "OPENAI" ? await refuse(c) : undefined;
  const models = refusal ? undefined : (await liveCatalog(c.env.DB)).names;
  const answer = async (asked: Request) => {
    if (refusal) return new Response(refusal.body, refusal);
    const request = markAsPart(c, new Request(asked, { signal }));
    return gateway(binding === "OPENAI" ? markOpenAi(request) : request);
  };
  const account = async () => (refusal ? undefined : (await authenticate(c))?.accountId);
  const countReads = async (count: number) => {
    try {
      for (let counted = 0; counted < count; counted++) await admit(c, "read");
      return undefined;
    } catch (error) {
      return onError(error, c);
    }
  };
  const api = new GatewayApi(answer, account, countReads);
  const opened = worker.open(c.req.raw, api, receiver(c.env.ASSETS, c.executionCtx), refusal, models);
  // If the caller disconnects, the Worker still reports how its attempt ended.
  c.executionCtx.waitUntil(Promise.resolve(opened).catch(() => undefined));
  return passOn(c, await opened);
}

/** The answer to a request without a valid key; undefined for one with a key or browser token. */
async function refuse(c: AppContext): Promise<Refusal | undefined> {
  let error = noKey(c);
  try {
    if (await authenticate(c)) return undefined;
  } catch (fault) {
    error = fault as ApiError;
  }
  const response = onError(error, c);
  return { status: response.status, headers: [...response.headers], body: await response.text() };
}

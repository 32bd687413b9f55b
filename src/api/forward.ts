/** Forwards requests to the Workers behind the gateway: the console, OpenAI's paths and MCP. */

import { receiver, smallEnough } from "./request/arrival.ts";
import { answerPlain, passOn } from "./request/answer.ts";
import { admit, admitToSubmit, authenticate, countLargeDryRun, countRequest, noKey } from "./request/auth.ts";
import { countRefusal, requireTasksLeft } from "./request/client-tokens.ts";
import type { AppContext } from "./request/context.ts";
import { onError, pathNotFound } from "./request/errors.ts";
import { isDryRun } from "./request/options.ts";
import { markAsPart, markOpenAi } from "./request/origin.ts";
import { ApiError } from "../base/errors.ts";
import type { Caller } from "../db/callers.ts";
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
  if (binding === "MCP") await admit(c, "read");
  // If the caller disconnects, the forwarded request is aborted too.
  const { signal } = c.req.raw;
  // Before that Worker reads or stores anything. It puts the refusal into its own format.
  const refusal = binding === "OPENAI" ? await refuse(c) : undefined;
  const models = refusal ? undefined : (await liveCatalog(c.env.DB)).names;
  let hasAsked = false;
  const answer = async (asked: Request) => {
    hasAsked = true;
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
  const caller = c.get("caller") as Caller | undefined;
  const owner = caller && { keyId: caller.keyId, ownWallets: caller.ownWallets };
  const opened = worker.open(c.req.raw, api, receiver(c.env.ASSETS, c.executionCtx, caller), refusal, models, owner);
  // If the caller disconnects, the Worker still reports how its attempt ended.
  c.executionCtx.waitUntil(Promise.resolve(opened).catch(() => undefined));
  const answered = await opened;
  if (binding === "OPENAI" && !refusal && !hasAsked) await countOwnAnswer(c, answered.status);
  return passOn(c, answered);
}

/**
 * The answer to a request of OpenAI's paths without a valid key, or with a body that is above the caller's limits; undefined for all others.
 * A body is counted before it is read, as under `/v1`; the other requests are counted by those that they make.
 */
async function refuse(c: AppContext): Promise<Refusal | undefined> {
  try {
    const caller = await authenticate(c);
    if (!caller) throw noKey(c);
    c.set("caller", caller);
    if (c.req.method === "POST" && c.req.raw.body) await admitBody(c);
    return undefined;
  } catch (error) {
    const response = onError(error, c);
    return { status: response.status, headers: [...response.headers], body: await response.text() };
  }
}

async function admitBody(c: AppContext): Promise<void> {
  await admitToSubmit(c, "client tokens");
  c.set("counted", isDryRun(c) ? ["read"] : ["submission"]);
  if (Number(c.req.header("content-length") ?? Infinity) <= smallEnough) return;
  // A small body may repeat a submission, which the Worker recognizes by its fields.
  requireTasksLeft(c);
  if (!isDryRun(c)) return;
  await countLargeDryRun(c);
  c.set("counted", ["read", "submission"]);
}

/** Counts a request that the Worker has answered without a request to the gateway's API. */
async function countOwnAnswer(c: AppContext, status: number): Promise<void> {
  if (status >= 400) c.set("outcome", status < 500 ? "invalid_request" : "unavailable");
  if (!c.get("counted")) return countRequest(c, "read").catch(() => undefined); // it is answered already; the next one is refused
  if (status < 500) await countRefusal(c, status);
}

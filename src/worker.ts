/** The gateway Worker: mounts each family of paths at its prefix; exports the queue consumer and the Durable Objects. */

import { methodNotAllowed } from "hono/method-not-allowed";
import { admin } from "./api/admin.ts";
import { assets } from "./api/assets.ts";
import { bearerToken } from "./api/auth.ts";
import { balances } from "./api/balance.ts";
import { callbacks } from "./api/callbacks.ts";
import { characters } from "./api/characters.ts";
import { chats } from "./api/chat.ts";
import { onError, onMethodNotAllowed, pathNotFound } from "./api/errors.ts";
import { events } from "./api/events.ts";
import { type AppContext, middleware } from "./api/frame.ts";
import { submissions } from "./api/generations.ts";
import { key } from "./api/key.ts";
import { models } from "./api/models.ts";
import { markOpenAi } from "./api/openai.ts";
import { markAsPart } from "./api/request-log.ts";
import { showKeys } from "./api/receipts.ts";
import { ready } from "./api/ready.ts";
import { routing } from "./api/router.ts";
import { statusQueries } from "./api/status.ts";
import { tasks } from "./api/tasks.ts";
import { tokens } from "./api/tokens.ts";
import { usage } from "./api/usage.ts";
import { webhook, webhookSecret } from "./api/webhooks.ts";
import { ConsoleApi } from "./console-api.ts";
import { findCaller } from "./db/callers.ts";
import { ApiError } from "./errors.ts";
import { GatewayApi } from "./gateway-api.ts";
import { inJurisdiction } from "./jurisdiction.ts";
import { ObjectsApi } from "./objects-api.ts";
import { consume, type QueueMessage } from "./tasks/dispatch.ts";

export { ClaimObject } from "./tasks/claim-object.ts";
export { HoldObject } from "./tasks/hold-object.ts";
export { TaskObject } from "./tasks/task-object.ts";
export { TokenObject } from "./tasks/token-object.ts";
export { WalletObject } from "./tasks/wallet-object.ts";

/** The gateway's resources that the console Worker needs: the documentation, and files that programs look for. */
const readPaths = ["/docs", "/docs/*", "/openapi.json", "/llms.txt", "/robots.txt", "/favicon.svg", "/status"];

const ownAnswer = ({ env, executionCtx }: AppContext) => {
  return async (request: Request) => gateway.fetch(request, env, executionCtx);
};

async function toConsole(c: AppContext): Promise<Response> {
  if (!c.env.CONSOLE) throw pathNotFound(c);
  const response = await c.env.CONSOLE.open(c.req.raw, new ConsoleApi(c.env, ownAnswer(c)));
  return new Response(response.body, response);
}

/** Forwards requests to the Worker of a binding with the API for callers; 404 if the Worker is not deployed. */
const toWorker = (binding: "OPENAI" | "MCP") => async (c: AppContext) => {
  const worker = c.env[binding];
  if (!worker) throw new ApiError("not_found");
  // If the caller disconnects, the forwarded request is aborted too.
  const { signal } = c.req.raw;
  const answer = (asked: Request) => {
    const request = markAsPart(c, new Request(asked, { signal }));
    return ownAnswer(c)(binding === "OPENAI" ? markOpenAi(request) : request);
  };
  const api = new GatewayApi(answer, async () => {
    const token = bearerToken(c);
    return token === undefined ? undefined : (await findCaller(c.env, token))?.accountId;
  });
  const response = await worker.open(c.req.raw, api);
  return new Response(response.body, response);
};

/** Every route, listed for answers to wrong methods. */
const routes = routing();

/** Browsers get a page; programs get links to other paths. */
function root(c: AppContext): Response | Promise<Response> {
  if (c.env.CONSOLE && c.req.header("accept")?.includes("text/html")) return toConsole(c);
  c.header("vary", "Accept");
  const at = (path: string) => new URL(path, c.get("url")).href;
  const pages = c.env.CONSOLE && { docs: at("/docs"), openapi: at("/openapi.json"), llms: at("/llms.txt") };
  return c.json({ object: "gateway", api: at("/v1"), models: at("/v1/models"), health: at("/healthz"), ...pages });
}

// Not strict: a trailing slash is the same path.
const app = routing({ strict: false })
  .onError(onError)
  .notFound((c) => onError(pathNotFound(c), c))
  .use(middleware)
  .use(methodNotAllowed({ app: routes, onMethodNotAllowed }))
  .route("/v1/tasks", tasks)
  .route("/v1/models", models)
  .route("/v1/usage", usage)
  .route("/v1/characters", characters)
  .route("/v1/events", events)
  .route("/v1/webhook", webhook)
  .route("/v1/webhook_secret", webhookSecret)
  .route("/v1/tokens", tokens)
  .route("/v1/key", key)
  .route("/v1/balance", balances("key"))
  .route("/balance", balances("key"))
  .route("/v1/user/balance", balances("account"))
  .route("/user/balance", balances("account"))
  .route("/callbacks", callbacks)
  .route("/admin", admin)
  .get("/", root)
  .on("ALL", ["/console", "/console/*"], toConsole)
  .on("GET", readPaths, toConsole)
  .get("/.well-known/jwks.json", showKeys)
  .all("/openai/*", toWorker("OPENAI"))
  .all("/mcp", toWorker("MCP"))
  .get("/healthz", (c) => c.json({ status: "ok" }))
  .get("/readyz", ready);

const gateway = routing({ strict: false })
  .onError(onError)
  .notFound((c) => app.fetch(c.req.raw, c.env, c.executionCtx))
  .route("/", statusQueries)
  .route("/assets", assets)
  .route("/characters", assets)
  .route("/", submissions)
  .route("/", chats);

routes.routes.push(...gateway.routes, ...app.routes);

/** Every five minutes: the operator's checks. */
async function scheduled(_: ScheduledController, env: Env): Promise<void> {
  await env.OPERATIONS?.check(new ObjectsApi(inJurisdiction(env)));
}

export default {
  fetch: (request: Request, env: Env, ctx: ExecutionContext) => gateway.fetch(request, inJurisdiction(env), ctx),
  queue: (batch: MessageBatch<QueueMessage>, env: Env, ctx: ExecutionContext) => consume(batch, inJurisdiction(env), ctx),
  scheduled,
} satisfies ExportedHandler<Env, QueueMessage>;

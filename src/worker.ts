/** The gateway Worker: mounts each family at its prefix; exports the queue consumer and the objects. */

import { Hono } from "hono";
import { methodNotAllowed } from "hono/method-not-allowed";
import { admin } from "./api/admin.ts";
import { assets } from "./api/assets.ts";
import { balances } from "./api/balance.ts";
import { characters } from "./api/characters.ts";
import { chat } from "./api/chat.ts";
import { onError, onMethodNotAllowed, pathNotFound } from "./api/errors.ts";
import { events } from "./api/events.ts";
import { type AppContext, type AppEnv, middleware } from "./api/frame.ts";
import { images, remixes, videos } from "./api/generations.ts";
import { key } from "./api/key.ts";
import { models } from "./api/models.ts";
import { showKeys } from "./api/receipts.ts";
import { ready } from "./api/ready.ts";
import { statusQueries } from "./api/status.ts";
import { tasks } from "./api/tasks.ts";
import { tokens } from "./api/tokens.ts";
import { usage } from "./api/usage.ts";
import { webhook, webhookSecret } from "./api/webhooks.ts";
import { ConsoleApi } from "./console-api.ts";
import { ApiError } from "./errors.ts";
import { GatewayApi } from "./gateway-api.ts";
import { consume } from "./tasks/dispatch.ts";

export { ClaimObject } from "./tasks/claim-object.ts";
export { HoldObject } from "./tasks/hold-object.ts";
export { TaskObject } from "./tasks/task-object.ts";
export { TokenObject } from "./tasks/token-object.ts";

const ownAnswer = ({ env, executionCtx }: AppContext) => {
  return async (request: Request) => gateway.fetch(request, env, executionCtx);
};

/** The pages are another Worker's, so that the API never loads them. */
async function toConsole(c: AppContext): Promise<Response> {
  if (!c.env.CONSOLE) throw new ApiError("not_found");
  const response = await c.env.CONSOLE.open(c.req.raw, new ConsoleApi(c.env, ownAnswer(c)));
  return new Response(response.body, response);
}

/** Hands requests to the Worker of a binding, and with them the API as callers have it; 404 where it is not deployed. */
const toWorker = (binding: "OPENAI") => async (c: AppContext) => {
  const worker = c.env[binding];
  if (!worker) throw new ApiError("not_found");
  // The caller who hangs up hangs up on what is asked for him, too.
  const { signal } = c.req.raw;
  const api = new GatewayApi((request) => ownAnswer(c)(new Request(request, { signal })));
  const response = await worker.open(c.req.raw, api);
  return new Response(response.body, response);
};

/** Every route, listed for answers to wrong methods. */
const routes = new Hono<AppEnv>();

// Not strict: a trailing slash is the same path.
const app = new Hono<AppEnv>({ strict: false })
  .onError(onError)
  .notFound((c) => onError(pathNotFound(c), c))
  .use(middleware)
  .use(methodNotAllowed({ app: routes, onMethodNotAllowed }))
  .route("/v1/chat", chat)
  .route("/v1/images", images)
  .route("/v1/videos", videos)
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
  .route("/assets", assets)
  .route("/characters", assets)
  .route("/admin", admin)
  .all("/console", toConsole)
  .all("/console/*", toConsole)
  .get("/.well-known/jwks.json", showKeys)
  .get("/openapi.json", toConsole)
  .all("/openai/*", toWorker("OPENAI"))
  .get("/healthz", (c) => c.json({ status: "ok" }))
  .get("/readyz", ready);

const gateway = new Hono<AppEnv>({ strict: false })
  .onError(onError)
  .notFound((c) => app.fetch(c.req.raw, c.env, c.executionCtx))
  .route("/", statusQueries)
  .route("/", remixes);

routes.route("/", gateway).route("/", app);

export default { fetch: gateway.fetch, queue: consume } satisfies ExportedHandler<Env, { taskId: string }>;

/** The gateway Worker: every route, the queue consumer, the operator's checks, and the Durable Objects. */

import { HonoBase } from "hono/hono-base";
import * as admin from "./api/admin.ts";
import * as adminCodes from "./api/admin-codes.ts";
import * as adminModels from "./api/admin-models.ts";
import { showMargins } from "./api/margins.ts";
import { answerAssetPreflight, showAsset } from "./api/assets.ts";
import { receiveCallback } from "./api/callbacks.ts";
import { openConsole, openWorker, showRoot, wantsPage } from "./api/forward.ts";
import { listModels, showModel } from "./api/models.ts";
import { ready } from "./api/ready.ts";
import { receiveStripeEvent } from "./api/stripe-events.ts";
import { verify } from "./api/verify.ts";
import { listAdminAudit, listAudit } from "./api/account/audit-log.ts";
import { balance } from "./api/account/balance.ts";
import { deleteCharacter, listCharacters } from "./api/account/characters.ts";
import * as destinations from "./api/account/destinations.ts";
import { listEvents } from "./api/account/events.ts";
import { showKey } from "./api/account/key.ts";
import { createPayment } from "./api/account/payments.ts";
import { createToken } from "./api/account/tokens.ts";
import { showUsage } from "./api/account/usage.ts";
import * as webhooks from "./api/account/webhooks.ts";
import { cancelBatch, createBatch, deliverBatch, downloadArchive, showBatch, showBatches, showResults } from "./api/batches/batches.ts";
import { completeChat } from "./api/chat/chat.ts";
import { estimate } from "./api/chat/estimates.ts";
import { createFile, deleteFile, downloadFile, listFiles, showFile } from "./api/files/files.ts";
import { submitTo } from "./api/submissions/submit.ts";
import { repeatCallback, showCallback } from "./api/tasks/callback.ts";
import { streamTask } from "./api/tasks/events.ts";
import { showTasks } from "./api/tasks/list.ts";
import { showKeys, showReceipt } from "./api/tasks/receipts.ts";
import { showStatus } from "./api/tasks/status.ts";
import { cancelTask, deleteTask, repeatDelivery } from "./api/tasks/tasks.ts";
import { answerPlain, answerPreflight } from "./api/request/answer.ts";
import { admitted, bearerToken, settingsChange } from "./api/request/auth.ts";
import { isClientToken } from "./api/request/client-tokens.ts";
import type { AppContext, AppEnv, Handle } from "./api/request/context.ts";
import { onError, pathNotFound } from "./api/request/errors.ts";
import { withMiddleware } from "./api/request/middleware.ts";
import { managed, ownTask } from "./api/request/roles.ts";
import { TableRouter } from "./api/request/router.ts";
import { methodNotAllowed } from "./base/errors.ts";
import { withRotatedSecrets } from "./base/rotated-secrets.ts";
import { knownProofDays } from "./config.ts";
import { wrongVariables } from "./api/request/variable-checks.ts";
import { readCertificate } from "./tasks/consumer/marks.ts";
import { inJurisdiction } from "./jurisdiction.ts";
import { Objects } from "./rpc/objects.ts";
import { PaymentObjects } from "./rpc/payment-objects.ts";
import { consume, type QueueMessage } from "./tasks/consumer/queue.ts";

export { BatchObject } from "./api/batches/object.ts";
export { ClaimObject } from "./tasks/object/claim-object.ts";
export { TaskObject } from "./tasks/object/task-object.ts";
export { TokenObject } from "./tasks/object/token-object.ts";
export { WalletObject } from "./wallet/object.ts";

const asGateway =
  ({ env, executionCtx }: AppContext) =>
  async (request: Request) =>
    app.fetch(request, env, executionCtx);

const toConsole: Handle = (c) => openConsole(c, asGateway(c));
const showLinked: Handle = (c) => showAsset(c, () => openConsole(c, asGateway(c)));
const { operated } = admin;

/** Every path with its methods. What admits its callers stands around each handler; submissions, chats and balances admit theirs themselves. */
const routes: [method: string, path: string, handle: Handle][] = [
  ["POST", "/v1/chat/completions", completeChat],
  ["POST", "/v1/images/generations", submitTo("image")],
  ["POST", "/v1/videos/generations", submitTo("video")],
  ["POST", "/v1/videos/:id/remix", submitTo("remix")],
  ["POST", "/v1/estimates", estimate],
  ["GET", "/v1/videos/generations/:id", admitted("read", showStatus("video"), "client tokens")],
  ["GET", "/v1/characters_tasks/:id", admitted("read", showStatus("character"), "client tokens")],

  ["POST", "/v1/tasks", submitTo("task")],
  ["GET", "/v1/tasks", admitted("read", showTasks)],
  ["GET", "/v1/tasks/:id", admitted("read", showStatus("generic"), "client tokens")],
  ["DELETE", "/v1/tasks/:id", admitted("read", ownTask(deleteTask))],
  ["POST", "/v1/tasks/:id/cancel", admitted("read", ownTask(cancelTask), "client tokens")],
  ["GET", "/v1/tasks/:id/events", admitted("read", streamTask, "client tokens")],
  ["GET", "/v1/tasks/:id/receipt", admitted("read", ownTask(showReceipt))],
  ["GET", "/v1/tasks/:id/callback", admitted("read", ownTask(showCallback))],
  ["POST", "/v1/tasks/:id/callback", admitted("submission", ownTask(repeatCallback))],
  ["POST", "/v1/tasks/:id/delivery", admitted("submission", ownTask(repeatDelivery))],

  ["GET", "/v1/models", admitted("read", listModels)],
  ["GET", "/v1/models/:id", admitted("read", showModel)],
  ["GET", "/v1/usage", admitted("read", showUsage)],
  ["GET", "/v1/events", admitted("read", managed(listEvents))],
  ["GET", "/v1/audit_log", admitted("read", managed(listAudit))],
  ["GET", "/v1/key", admitted("read", showKey)],
  ["POST", "/v1/payments", admitted("submission", managed(createPayment))],
  ["POST", "/v1/tokens", admitted("submission", createToken)],
  ["POST", "/v1/files", admitted("submission", createFile)],
  ["GET", "/v1/files", admitted("read", listFiles)],
  ["GET", "/v1/files/:id", admitted("read", showFile)],
  ["DELETE", "/v1/files/:id", admitted("read", deleteFile)],
  ["GET", "/v1/files/:id/content", admitted("read", downloadFile)],
  ["POST", "/v1/batches", admitted("submission", createBatch)],
  ["GET", "/v1/batches", admitted("read", showBatches)],
  ["GET", "/v1/batches/:id", admitted("read", showBatch)],
  ["POST", "/v1/batches/:id/cancel", admitted("read", cancelBatch)],
  ["POST", "/v1/batches/:id/delivery", admitted("submission", deliverBatch)],
  ["GET", "/v1/batches/:id/results", admitted("read", showResults)],
  ["GET", "/v1/batches/:id/files.zip", admitted("read", downloadArchive)],
  ["GET", "/v1/characters", admitted("read", listCharacters)],
  ["DELETE", "/v1/characters/:id", admitted("read", deleteCharacter)],
  ["GET", "/v1/webhook", admitted("read", managed(webhooks.showWebhook))],
  ["PUT", "/v1/webhook", admitted("submission", managed(settingsChange(webhooks.setWebhook)))],
  ["POST", "/v1/webhook/test", admitted("submission", managed(webhooks.testWebhook))],
  ["GET", "/v1/webhook_secret", admitted("read", managed(webhooks.showWebhookSecret))],
  ["POST", "/v1/webhook_secret", admitted("submission", managed(settingsChange(webhooks.rotateWebhookSecret)))],

  ["GET", "/v1/destinations", admitted("read", destinations.showDestinations)],
  ["GET", "/v1/destinations/:id", admitted("read", destinations.showDestination)],
  ["PUT", "/v1/destinations/:id", admitted("submission", managed(settingsChange(destinations.putDestination)))],
  ["DELETE", "/v1/destinations/:id", admitted("submission", managed(settingsChange(destinations.removeDestination)))],
  ["POST", "/v1/destinations/:id/test", admitted("submission", managed(destinations.testDestination))],

  ["ALL", "/balance", balance("key")],
  ["ALL", "/v1/balance", balance("key")],
  ["ALL", "/user/balance", balance("account")],
  ["ALL", "/v1/user/balance", balance("account")],

  ["GET", "/assets/*", showLinked],
  ["OPTIONS", "/assets/*", answerAssetPreflight],
  ["GET", "/characters/*", showLinked],
  ["OPTIONS", "/characters/*", answerAssetPreflight],
  ["POST", "/callbacks/:provider/:task/:signature", receiveCallback],
  ["POST", "/payments/stripe", receiveStripeEvent],
  ["GET", "/.well-known/jwks.json", showKeys],
  ["GET", "/v1/verify/:sha256", verify],

  ["POST", "/admin/accounts", operated(admin.createAccount)],
  ["GET", "/admin/accounts", operated(admin.listAccounts)],
  ["GET", "/admin/accounts/:id", operated(admin.showAccount)],
  ["PATCH", "/admin/accounts/:id", operated(admin.changeAccount)],
  ["DELETE", "/admin/accounts/:id", operated(admin.deleteAccount)],
  ["POST", "/admin/accounts/:id/keys", operated(admin.createKey)],
  ["GET", "/admin/accounts/:id/keys", operated(admin.listKeys)],
  ["POST", "/admin/accounts/:id/invitations", operated(admin.createInvitation)],
  ["PATCH", "/admin/keys/:id", operated(admin.changeKey)],
  ["DELETE", "/admin/keys/:id", operated(admin.deleteKey)],
  ["GET", "/admin/models", operated(adminModels.listModels)],
  ["GET", "/admin/models/:id", operated(adminModels.showModel)],
  ["PUT", "/admin/models/:id", operated(adminModels.putModel)],
  ["DELETE", "/admin/models/:id", operated(adminModels.deleteModel)],
  ["POST", "/admin/model_drafts", operated(adminModels.draftModel)],
  ["POST", "/admin/models/:id/rollback", operated(adminModels.rollBackModel)],
  ["POST", "/admin/codes", operated(adminCodes.createCodes)],
  ["GET", "/admin/codes", operated(adminCodes.listCodes)],
  ["DELETE", "/admin/codes/:id", operated(adminCodes.revokeCode)],
  ["POST", "/admin/reconcile", operated(admin.reconcile)],
  ["POST", "/admin/alerts/test", operated(admin.testAlert)],
  ["GET", "/admin/audit_log", operated(listAdminAudit)],
  ["GET", "/admin/margins", operated(showMargins)],
  ["GET", "/admin/audit", operated(admin.audit)],

  ["GET", "/healthz", (c) => answerPlain(c, { status: "ok" })],
  ["GET", "/readyz", ready],

  ["OPTIONS", "/openai/*", answerPreflight],
  ["ALL", "/openai/*", (c) => openWorker(c, asGateway(c), "OPENAI")],
  ["ALL", "/mcp", (c) => openWorker(c, asGateway(c), "MCP")],
  ["GET", "/", (c) => showRoot(c, asGateway(c))],
  ["ALL", "/console", toConsole],
  ["ALL", "/console/*", toConsole],
  ["GET", "/docs", toConsole],
  ["GET", "/docs/*", toConsole],
  ["GET", "/openapi.json", toConsole],
  ["GET", "/llms.txt", toConsole],
  ["GET", "/robots.txt", toConsole],
  ["GET", "/favicon.svg", toConsole],
  ["GET", "/status", toConsole],
  ["GET", "/verify", toConsole],
];

const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/** Answers a path or method without a route: 405 if the path has other methods. */
const refuse: Handle = async (c) => {
  const { method, path } = c.req;
  if (method === "OPTIONS" && /^\/(v1\/|(user\/)?balance\b)/.test(path)) return answerPreflight(c);
  // A page learns that its path or method is wrong, which without this header would look like a network error.
  if (isClientToken(bearerToken(c) ?? "") || /^\/(assets|characters|v1\/verify)\//.test(path)) c.set("allowOrigin", "*");
  // Callers without the operator's token cannot find out which paths exist under /admin.
  if (/^\/admin(\/|$)/.test(path)) await admin.admitOperator(c);
  const allowed = methods.filter((one) => app.router.match(one === "HEAD" ? "GET" : one, path)[0].length > 0);
  if (allowed.length > 0) throw methodNotAllowed(allowed);
  if (wantsPage(c) && !/^\/(v1|admin|openai|mcp)(\/|$)/.test(path)) return openConsole(c, asGateway(c));
  throw pathNotFound(c);
};

// Not strict: a trailing slash is the same path.
const app = new HonoBase<AppEnv>({ strict: false, router: new TableRouter() }).onError(onError).notFound(withMiddleware(refuse));
for (const [method, path, handle] of routes) app.on(method, path, withMiddleware(handle));

/** What only this Worker knows of itself, for the checks. */
async function readOwnState(env: Env) {
  const days = knownProofDays(env);
  return { ...(days !== undefined && { proofDays: days }), certificate: await readCertificate(env), wrongVariables: wrongVariables(env) };
}

/** Every five minutes: the operator's checks, and the look at Stripe, which does not wait for them. */
async function scheduled(_: ScheduledController, given: Env): Promise<void> {
  const env = inJurisdiction(withRotatedSecrets(given));
  const runs = await Promise.allSettled([
    (async () => env.OPERATIONS?.check(new Objects(env), await readOwnState(env)))(),
    Promise.resolve(env.PAYMENTS?.run(new PaymentObjects(env))),
  ]);
  const failed = runs.find(({ status }) => status === "rejected");
  if (failed?.status === "rejected") throw failed.reason;
}

export default {
  fetch: (request: Request, env: Env, ctx: ExecutionContext) => app.fetch(request, inJurisdiction(withRotatedSecrets(env)), ctx),
  queue: (batch: MessageBatch<QueueMessage>, env: Env, ctx: ExecutionContext) =>
    consume(batch, inJurisdiction(withRotatedSecrets(env)), ctx),
  scheduled,
} satisfies ExportedHandler<Env, QueueMessage>;

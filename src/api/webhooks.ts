/** `/v1/webhook` and `/v1/webhook_secret`: the account's endpoint for callbacks, and the secret that signs them. */

import { allowsPrivateNetwork, ownHosts } from "../config.ts";
import { readWebhook, rotateSecret, setEndpoint } from "../db/webhooks.ts";
import { ApiError } from "../errors.ts";
import { newId } from "../ids.ts";
import { post } from "../tasks/notify.ts";
import { admitted } from "./auth.ts";
import { readFields, readNoBody } from "./body.ts";
import { type AppContext, answer } from "./frame.ts";
import { readReceiverUrl } from "./references.ts";
import { routing } from "./router.ts";
import { webhookChange } from "./schema/bodies.ts";

export const webhook = routing()
  .get("/", admitted("read"), async (c) => answer(c, { url: (await readWebhook(c.env.DB, callerAccount(c))).url }))
  .put("/", admitted("read"), setUrl)
  .post("/test", admitted("submission"), sendTest);

export const webhookSecret = routing()
  .get("/", admitted("read"), async (c) => privately(c, (await readWebhook(c.env.DB, callerAccount(c))).secret))
  .post("/", admitted("read"), async (c) => {
    await readNoBody(c);
    return privately(c, await rotateSecret(c.env.DB, callerAccount(c)));
  });

const callerAccount = (c: AppContext) => c.get("caller").accountId;

function privately(c: AppContext, secret: string): Response {
  c.header("cache-control", "no-store");
  return answer(c, { secret });
}

const receiverRules = (c: AppContext) => ({
  allowPrivate: allowsPrivateNetwork(c.env),
  ownHosts: [new URL(c.get("url")).hostname, ...ownHosts(c.env)],
});

async function setUrl(c: AppContext): Promise<Response> {
  const { url: text } = await readFields(c, webhookChange, ["url"]);
  const { url = null, violations } = text === null ? { violations: [] } : readReceiverUrl("url", text, receiverRules(c));
  if (violations.length > 0) throw new ApiError("invalid_request", { violations });
  await setEndpoint(c.env.DB, callerAccount(c), url);
  return answer(c, { url });
}

/** Sends one signed event of the type `test` to the account's endpoint, and answers with its outcome. */
async function sendTest(c: AppContext): Promise<Response> {
  await readNoBody(c);
  const webhook = await readWebhook(c.env.DB, callerAccount(c));
  const { url } = webhook;
  if (url === null) throw new ApiError("webhook_not_found");
  const body = JSON.stringify({ type: "test", timestamp: new Date().toISOString(), data: {} });
  const { at, status, ...attempt } = await post(url, newId("evt_test_"), body, webhook, receiverRules(c).ownHosts, c.env);
  const delivered = status !== undefined && status >= 200 && status < 300;
  return answer(c, {
    object: "webhook.test",
    url,
    delivered,
    at: Math.floor(at / 1000),
    ...(status !== undefined && { status }),
    ...attempt,
  });
}

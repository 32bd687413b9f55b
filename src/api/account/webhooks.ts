/** `/v1/webhook` and `/v1/webhook_secret`: the account's endpoint for callbacks, and the secret that signs them. */

import { type AppContext, hostName } from "../request/context.ts";
import { urlRules } from "../../config.ts";
import { readWebhook, rotateSecret, setEndpoint } from "../../db/webhooks.ts";
import { ApiError, refuse } from "../../base/errors.ts";
import { actor } from "../request/actor.ts";
import { newId } from "../../base/ids.ts";
import { toSeconds } from "../../base/times.ts";
import { post } from "../../tasks/consumer/notify.ts";
import { Objects } from "../../rpc/objects.ts";
import { readFields, readNoBody } from "../request/body.ts";
import { answer } from "../request/answer.ts";
import { checkKey } from "../request/options.ts";
import { readReceiverUrl } from "../request/references.ts";
import { webhookChange } from "../schema/bodies.ts";

const callerAccount = (c: AppContext) => c.get("caller").accountId;

const answerSecret = (c: AppContext, secret: string) => answer(c, { secret }, 200, { "cache-control": "no-store" });

export async function showWebhookSecret(c: AppContext): Promise<Response> {
  return answerSecret(c, (await readWebhook(c.env, callerAccount(c))).secret);
}

export async function rotateWebhookSecret(c: AppContext): Promise<Response> {
  await readNoBody(c);
  const key = c.req.header("idempotency-key");
  if (key !== undefined) checkKey(key);
  return answerSecret(c, await rotateSecret(c.env, new Objects(c.env), actor(c), callerAccount(c), key));
}

export async function showWebhook(c: AppContext): Promise<Response> {
  return answer(c, { url: (await readWebhook(c.env, callerAccount(c))).url });
}

export async function setWebhook(c: AppContext): Promise<Response> {
  const { url: text } = await readFields(c, webhookChange, { nullable: ["url"] });
  const { url = null, violations } = text === null ? { violations: [] } : readReceiverUrl("url", text, urlRules(c.env, hostName(c)));
  refuse(violations);
  await setEndpoint(c.env, new Objects(c.env), actor(c), callerAccount(c), url);
  return answer(c, { url });
}

/** Sends one signed event of the type `test` to the account's endpoint, and answers with its outcome. */
export async function testWebhook(c: AppContext): Promise<Response> {
  await readNoBody(c);
  const webhook = await readWebhook(c.env, callerAccount(c));
  const { url } = webhook;
  if (url === null) throw new ApiError("webhook_not_found");
  const body = JSON.stringify({ type: "test", timestamp: new Date().toISOString(), data: {} });
  const { at, status, ...attempt } = await post(url, newId("evt_test_"), body, webhook, c.env, hostName(c));
  const delivered = status !== undefined && status >= 200 && status < 300;
  return answer(c, {
    object: "webhook.test",
    url,
    delivered,
    at: toSeconds(at),
    ...(status !== undefined && { status }),
    ...attempt,
  });
}

/** The queue consumer: gives each message to what handles it. The work of tasks is claimed from their objects first. */

import { handleAlert } from "./budget-alerts.ts";
import { type Background, handleCallback } from "./notify.ts";
import { perform } from "./perform.ts";
import { hasSlowHosts } from "./slow-hosts.ts";
import { openTask, toLeaseGiver } from "./task-stub.ts";
import { newId } from "../../base/ids.ts";
import { alert } from "../../base/log.ts";
import { retryRestart } from "../../base/retry.ts";
import { isNewer, messageVersion, settlementVersion } from "../../base/versions.ts";
import { recordIncident } from "../../db/alerts.ts";
import type { AlertMessage } from "../../wallet/alerts.ts";
import { handleSettlement, type SettlementMessage } from "../../wallet/late-settlements.ts";
import type { TaskMessage } from "../work.ts";

export type QueueMessage = TaskMessage | AlertMessage | SettlementMessage;

/** Code of the previous version runs for at most five minutes after a deployment: the second delivery happens later than that. */
const newerRetryS = 300;
/** The names in wrangler.toml of the dead-letter queue and the callback queue; a deployment appends its environment's name. */
const isDeadLetterQueue = (queue: string) => queue.startsWith("gateway-dead");
const isCallbackQueue = (queue: string) => queue.startsWith("gateway-notify");

/**
 * Processes a batch. Messages are claimed and processed one after the other: an invocation has six connections, and a request that waits
 * for one would use up its timeout. wrangler.toml sets one message per batch, so this only matters with another configuration.
 */
export async function consume(batch: MessageBatch<QueueMessage>, env: Env, background: Background): Promise<void> {
  const handleTask = isCallbackQueue(batch.queue) ? handleCallback : deliver;
  const isDead = isDeadLetterQueue(batch.queue);
  for (const message of batch.messages.filter(isKnown)) {
    if (isSettlement(message)) await handleSettlement(message, env);
    else if (isOfTask(message)) await (isDead ? handleDeadLetter(message, env) : handleTask(message, env, background));
    else if (!isDead) await handleAlert(message as Message<AlertMessage>, env);
  }
}

/** False for a message that a newer version sent: it is delivered again after the deployment, also from the dead-letter queue. */
function isKnown(message: Message<QueueMessage>): boolean {
  if (!isNewer(message.body, isSettlement(message) ? settlementVersion : messageVersion)) return true;
  alert("dispatch", { attempt: message.attempts, outcome: "newer" });
  message.retry({ delaySeconds: newerRetryS });
  return false;
}

const isSettlement = (message: Message<QueueMessage>): message is Message<SettlementMessage> => "settlement" in message.body;
const isOfTask = (message: Message<QueueMessage>): message is Message<TaskMessage> => "taskId" in message.body;

async function deliver(message: Message<TaskMessage>, env: Env): Promise<void> {
  const { taskId, readsUrlsOf } = message.body;
  // The task object runs the start, because no consumer claims it: others' starts must not wait for the hosts of this account.
  if (readsUrlsOf !== undefined && hasSlowHosts(readsUrlsOf)) return message.ack();
  try {
    const nonce = newId("");
    const work = await retryRestart("dispatch", taskId, async () => openTask(taskId, env)?.claim(nonce));
    if (work) await perform(work, env, toLeaseGiver(taskId, env));
    message.ack();
  } catch (error) {
    // Only an RPC to our own object throws here: faults of providers and storage are reported to the object. The queue redelivers the
    // message.
    alert("dispatch", { task: taskId, attempt: message.attempts, outcome: "fault" }, error);
    message.retry({ delaySeconds: Math.min(60, 2 ** message.attempts) });
  }
}

/** Tells the task of a message in the dead-letter queue that no consumer will get it. */
async function handleDeadLetter(message: Message<TaskMessage>, env: Env): Promise<void> {
  const { taskId } = message.body;
  try {
    await openTask(taskId, env)?.failDeadLetter();
    message.ack();
    await recordIncident(env.DB, "dead_letter", taskId);
  } catch (error) {
    alert("dead_letter", { task: taskId, attempt: message.attempts, outcome: "fault" }, error);
    message.retry({ delaySeconds: 60 });
  }
}

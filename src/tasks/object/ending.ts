/** The end of a task: its final state is written, then settled: character, money, provider, inputs, callback. Every step may be repeated. */

import { logFields } from "../log-fields.ts";
import { characterPicture, copyStored, inputPrefix, removeAssets, removeUnder } from "../../storage/assets.ts";
import { assetBaseUrl, lifeTimes, signingSecret } from "../../config.ts";
import { signLinks, taskData } from "../answers/views.ts";
import type { LineReport } from "../batch-line.ts";
import { alert, log } from "../../base/log.ts";
import { insertCharacter, isCharacterDeleted } from "../../db/characters.ts";
import { hasEndpoint } from "../../db/webhooks.ts";
import { sendCallback } from "./messages.ts";
import type { RecordStore } from "./record-store.ts";
import { cancelUpstream, eraseUpstream } from "./upstream.ts";
import { settlePrice } from "./wallet-calls.ts";
import { billedCost, isBooked } from "../booking.ts";
import { currentRoute, type EarlierWork, type FinalTask, isFinal, type Task } from "../record.ts";
import { withEarlier } from "../transitions/hedge.ts";
import * as afterEnd from "../transitions/after-end.ts";
import { awaitsDelivery, deliveryBegun } from "../transitions/delivery.ts";
import { callbackBegun } from "../transitions/receiver-calls.ts";
import { noteDuration } from "../typical-times.ts";

/** When a maker is asked how work ended that it did not stop. */
const askAgainMs = 30_000;

/** Writes a state after which the task may be final, and settles a final one; if the ledger does not answer, the alarm retries. */
export async function apply(next: Task, record: RecordStore, env: Env): Promise<Task> {
  const task = record.commit(next);
  if (!isFinal(task)) return task;
  // Only if the first route completed the task: the duration with a fallback route is not typical of the first route.
  if (task.status === "completed" && task.attempts.length === 0) void noteDuration(env.DB, task);
  await settleOnce(task, record, env);
  return record.task ?? task;
}

/** Settles the task, or waits for the settlement that is running. */
export function settleOnce(task: FinalTask, record: RecordStore, env: Env): Promise<void> {
  record.settling ??= settle(task, record, env).finally(() => (record.settling = undefined));
  return record.settling;
}

/** Settles the task and begins its callback and its delivery. Failed calls are retried by the alarm. */
async function settle(task: FinalTask, record: RecordStore, env: Env): Promise<void> {
  const started = Date.now();
  const { charged, error, createdAt, submission } = task;
  try {
    await keepCharacter(task, env);
    await settlePrice(task, env);
    await removeInputs(task, env);
    await reportToBatch(task, env);
    // The account's endpoint gets one event for the whole batch.
    const hasReceiver =
      (submission.callbackUrl !== undefined && !task.isBusy) || (!submission.batch && (await hasEndpoint(env.DB, submission.accountId)));
    const of = { ...logFields(task), key: submission.keyId, kind: submission.kind, submitted: createdAt };
    const isUnwanted = error === "cancelled" || error === "deadline_exceeded";
    // Only after all steps above: if one of them fails, this function runs again, and a maker no longer knows work that it has stopped.
    const left = isUnwanted ? await stopUpstream(task, env) : undefined;
    if (!isUnwanted) await eraseUpstream(task, env);
    log("settle", { ...of, outcome: error ?? "completed", charged, ms: Date.now() - started });
    // Earlier work may have ended meanwhile, or the owner may have requested the callback.
    const current = record.task;
    if (!current || !isFinal(current) || current.step.do !== "settle") return;
    const { assetMs, recordMs } = lifeTimes(env);
    const isDelivered = awaitsDelivery(task);
    const settled = deliveryBegun(afterEnd.settled(left ? withEarlier(current, left) : current, assetMs, recordMs), Date.now());
    if (hasReceiver && !settled.callback) return await sendCallback(record.commit(callbackBegun(settled, Date.now())), env);
    // Written only if it differs from a settlement that succeeded at the first attempt, which `reloaded` assumes after a while.
    if (current !== task || task.status === "failed" || task.faults > 0 || task.callback || isDelivered) record.commit(settled);
    else record.sleep(settled);
  } catch (fault) {
    alert("settle", { ...logFields(task), outcome: "retry" }, fault);
    if (record.task === task) record.commit(afterEnd.settleFailed(task, Date.now()));
  }
}

/** Cancels the work of a task that ended without it. Returns work of which it has to be known what its maker bills. */
async function stopUpstream(task: FinalTask, env: Env): Promise<EarlierWork | undefined> {
  const { route, operation } = task;
  const { cost } = (await cancelUpstream(task, env)) ?? {};
  if (cost === 0 || operation === undefined || isBooked(task) || !currentRoute(task).cost) return undefined;
  const end = typeof cost === "number" ? { end: cost } : {};
  return { route, operation, at: Date.now() + askAgainMs, faults: 0, cost: cost === null ? null : billedCost(task, route), ...end };
}

/** Stores the character that a completed task created, unless its account has deleted it in the meantime. */
async function keepCharacter(task: FinalTask, env: Env): Promise<void> {
  const { submission, result } = task;
  if (result?.kind !== "character" || (await isCharacterDeleted(env.DB, result.id))) return;
  await copyStored(env.ASSETS, result.picture.key, characterPicture(result.id)); // it remains when the task's files are deleted
  await insertCharacter(env.DB, {
    ...result,
    pictureType: result.picture.type,
    pictureDigest: result.picture.digest,
    accountId: submission.accountId,
    model: submission.model,
    provider: currentRoute(task).provider,
    handle: result.handle ?? null,
    createdAt: task.finalAt,
  });
}

/** Reports the end to the batch that the task is a line of. Repeating changes nothing. */
async function reportToBatch(task: FinalTask, env: Env): Promise<void> {
  const { batch } = task.submission;
  if (!batch) return;
  const { BATCHES } = env;
  await BATCHES.get(BATCHES.idFromString(batch.batch)).lineEnded(batch.line, task.id, await toLineReport(task, env));
}

/** Removes the task's content from the results of the batch that it is a line of. Repeating changes nothing. False if the batch does not answer. */
export async function eraseLine(task: Task, { BATCHES }: Env): Promise<boolean> {
  const { batch } = task.submission;
  if (!batch) return true;
  try {
    await BATCHES.get(BATCHES.idFromString(batch.batch)).lineErased(batch.line, task.id);
    return true;
  } catch (error) {
    alert("batch", { ...logFields(task), outcome: "not_erased" }, error);
    return false;
  }
}

/** What the batch needs of an ended task. */
export async function toLineReport(task: FinalTask, env: Env): Promise<LineReport> {
  const { base, language } = task.submission;
  const link = await signLinks(task, assetBaseUrl(env) ?? base, () => signingSecret(env));
  const data = JSON.stringify(taskData(task, link, language, Date.now()));
  const { status, charged, isBusy, isUnknown, error } = task;
  return { status, charged, data, isBusy, isUnknown: isUnknown && error === "provider_error" };
}

/** Deletes inputs by their keys, and by the task's prefix: a submission repeated after a crash stores its images again. */
async function removeInputs({ id, submission }: Task, env: Env): Promise<void> {
  const keys = submission.inputs.flatMap(({ key }) => key ?? []);
  const video = submission.source?.asset?.key;
  if (video?.startsWith(inputPrefix(id))) keys.push(video);
  if (keys.length === 0) return;
  await removeAssets(env.ASSETS, keys);
  await removeUnder(env.ASSETS, inputPrefix(id));
}

/** Removes the task and its inputs. */
export async function forget(task: Task, record: RecordStore, env: Env): Promise<void> {
  await removeInputs(task, env);
  await record.remove();
}

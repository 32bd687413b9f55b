/** Settles a final task: ledger, character, upstream, inputs. Every step may be repeated. */

import { characterPicture, copyAsset, inputPrefix, removeAssets, removeUnder } from "../assets.ts";
import { maxOpenTasks } from "../config.ts";
import { insertCharacter } from "../db/characters.ts";
import { alert } from "../log.ts";
import { withTimeout } from "../providers/shared/http.ts";
import { providerNamed } from "../providers/index.ts";
import type { Operation } from "../providers/provider.ts";
import { type Charge, settle, reserve } from "../db/ledger.ts";
import { insertReference } from "../db/references.ts";
import { selectEndpoint } from "../db/webhooks.ts";
import { currentRoute, type FinalTask, type Task } from "./record.ts";

const cancelTimeoutMs = 10_000;

const toCharge = ({ id, submission }: Task): Charge => ({
  taskId: id,
  accountId: submission.accountId,
  keyId: submission.keyId,
  kind: submission.kind,
  model: submission.model,
});

/** The identifiers of a task for log lines, without content. */
export const logFields = ({ id, submission, route, faults }: Task) => ({
  request: submission.requestId,
  task: id,
  account: submission.accountId,
  model: submission.model,
  provider: currentRoute({ submission, route }).provider,
  attempt: faults + 1,
});

/** Reserves the task's price. A task with a reference is then listed under it; if that cannot be written, the task is not accepted. */
export async function reservePrice(task: Task, env: Env): ReturnType<typeof reserve> {
  const { id, createdAt, submission } = task;
  const { accountId, reference, price } = submission;
  const answer = await reserve(env.DB, toCharge(task), price, maxOpenTasks(env));
  if (answer === "reserved" && reference !== undefined) await insertReference(env.DB, { accountId, reference, at: createdAt, taskId: id });
  return answer;
}

/** Returns what the ledger may have reserved for a task that was refused. */
export const returnPrice = (task: Task, env: Env) => settle(env.DB, toCharge(task), 0, "refused");

/**
 * Settles a final task, stores its character, cancels it at the provider if it may continue, deletes the inputs. Returns true if
 * there is a receiver: the task's `callback_url`, or its account's endpoint as of the same transaction.
 */
export async function settleTask(task: FinalTask, env: Env): Promise<boolean> {
  const { submission, charged, error, result } = task;
  const character = result?.kind === "character" ? result : undefined;
  if (character) await copyAsset(env.ASSETS, character.picture, characterPicture(character.id));
  const kept = character && {
    ...character,
    pictureType: character.picture.type,
    pictureDigest: character.picture.digest,
    accountId: submission.accountId,
    model: submission.model,
    provider: currentRoute(task).provider,
    handle: character.handle ?? null,
    createdAt: task.finalAt,
  };
  const [endpoint] = await settle(env.DB, toCharge(task), charged, error ?? "completed", [
    selectEndpoint(env.DB, submission.accountId),
    ...(kept ? [insertCharacter(env.DB, kept)] : []),
  ]);
  if (error === "cancelled" || error === "deadline_exceeded") await cancelUpstream(task, env);
  await removeInputs(task, env);
  return submission.callbackUrl !== undefined || endpoint!.results.length > 0;
}

/** Best effort: the caller's charge is decided, this only reduces the operator's bill. Returns true if the provider cancelled. */
export async function cancelUpstream(task: Task, env: Env): Promise<boolean> {
  if (task.operation === undefined) return false;
  try {
    const provider = providerNamed(env, currentRoute(task).provider);
    if (!provider.cancel) return false;
    await withTimeout(provider.cancel(task.operation), cancelTimeoutMs);
    return true;
  } catch (error) {
    alert("cancel", { ...logFields(task), outcome: "fault" }, error);
    return false;
  }
}

/**
 * Cancels work that a provider accepted after its task had ended. The operator may be billed for it and the caller is not: the log
 * line has the price that the caller would have paid, in millionths.
 */
export async function cancelLate(task: Task, operation: Operation, env: Env): Promise<void> {
  const isCancelled = await cancelUpstream({ ...task, operation }, env);
  alert("cancel", { ...logFields(task), outcome: isCancelled ? "late_cancelled" : "late_not_cancelled", cost: task.submission.price });
}

/** Deletes inputs by their keys, and by the task's prefix: a submission repeated after a crash stores its images again. */
export async function removeInputs({ id, submission }: Task, env: Env): Promise<void> {
  const keys = submission.inputs.flatMap(({ key }) => key ?? []);
  if (keys.length === 0) return;
  await removeAssets(env.ASSETS, keys);
  await removeUnder(env.ASSETS, inputPrefix(id));
}

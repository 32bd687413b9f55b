/** Settles a final task: ledger, character, cancellation at the provider, inputs. Every step may be repeated. */

import { characterPicture, copyAsset, inputPrefix, removeAssets, removeUnder } from "../assets.ts";
import { maxOpenTasks } from "../config.ts";
import { insertCharacter, isCharacterDeleted } from "../db/characters.ts";
import { alert } from "../log.ts";
import { withTimeout } from "../providers/shared/http.ts";
import { providerNamed } from "../providers/index.ts";
import type { Operation } from "../providers/provider.ts";
import { type Charge, type Outcome, settle } from "../db/ledger.ts";
import { insertReference } from "../db/references.ts";
import { hasEndpoint } from "../db/webhooks.ts";
import { currentRoute, type FinalTask, isFinal, type Task } from "./record.ts";
import type { ReserveAnswer } from "./wallet-limits.ts";
import { withSpan } from "../tracing.ts";
import { chargeVersion } from "../versions.ts";

const cancelTimeoutMs = 10_000;

const toCharge = ({ id, submission }: Task): Charge => ({
  v: chargeVersion,
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

/** The attributes of a task's spans. */
export const toAttributes = ({ id, submission }: Task) => ({ kind: submission.kind, model: submission.model, task: id });

/** The attributes of a call of its current route's provider. */
export function toCallAttributes(task: Task) {
  const { provider, model } = currentRoute(task);
  return { ...toAttributes(task), provider, model };
}

const openWalletObject = (env: Env, { submission }: Task) => env.WALLETS.getByName(submission.accountId);
const openTokenObject = ({ TOKENS }: Env, { submission: { token } }: Task) => token && TOKENS.get(TOKENS.idFromString(token));

/**
 * Reserves the task's price, first from the allowance of a browser token: `token` if the allowance does not suffice. Then makes the task
 * findable by its reference; if that cannot be written, the task is not accepted. Throws if the outcome of the reservation is unknown.
 */
export const reservePrice = (task: Task, env: Env) => withSpan("reserve", toAttributes(task), () => reserve(task, env));

async function reserve(task: Task, env: Env): Promise<ReserveAnswer | { answer: "token" }> {
  const { id, createdAt, submission } = task;
  const { accountId, reference, price } = submission;
  const token = openTokenObject(env, task);
  if (token && !(await token.take(id, price))) return { answer: "token" };
  const given = await openWalletObject(env, task).reserve(toCharge(task), price, {
    maxOpenTasks: maxOpenTasks(env),
    ...(submission.maxKeyTasks !== undefined && { maxKeyTasks: submission.maxKeyTasks }),
  });
  if (token && given.answer !== "reserved") await token.giveBack(id);
  if (given.answer === "reserved" && reference !== undefined)
    await insertReference(env.DB, { accountId, reference, at: createdAt, taskId: id });
  return given;
}

/** Settles the task's hold in the wallet object or in D1. Keyed by the task: a repeat changes nothing. */
const settlePrice = (task: Task, env: Env, charged: number, outcome: Outcome, held?: number): Promise<void> =>
  withSpan("settle", toAttributes(task), async () =>
    task.heldBy === "wallet"
      ? await openWalletObject(env, task).settle(toCharge(task), charged, outcome, held)
      : await settle(env.DB, toCharge(task), charged, outcome),
  );

/** Releases what may be reserved for a task whose submission was refused. */
export async function returnPrice(task: Task, env: Env): Promise<void> {
  await settlePrice(task, env, 0, "refused");
  const token = openTokenObject(env, task);
  if (token) await token.giveBack(task.id);
}

const settleFinal = (task: FinalTask, env: Env) => settlePrice(task, env, task.charged, task.error ?? "completed", task.submission.price);

/** Settles again a hold of D1's own ledger, long after the end: the record may not say whether the settlement has succeeded. A wallet object asks the tasks of old holds itself. */
export const settleForgotten = async (task: FinalTask, env: Env): Promise<void> => {
  if (task.heldBy !== "wallet") await settleFinal(task, env);
};

/** Reports to a wallet that lost its storage the amount that this task holds, or its charge. */
export async function reportToWallet(task: Task, env: Env): Promise<void> {
  if (isFinal(task)) await settleFinal(task, env);
  else if (task.heldBy === "wallet") await openWalletObject(env, task).recover(toCharge(task), task.submission.price);
}

/**
 * Stores the character of a completed task, settles the hold, cancels at the provider if required, and removes the inputs. Returns true if
 * there is a URL to call back: the task's own or its account's endpoint.
 */
export async function settleTask(task: FinalTask, env: Env): Promise<boolean> {
  const { submission, error } = task;
  await keepCharacter(task, env);
  await settleFinal(task, env);
  if (error === "cancelled" || error === "deadline_exceeded") await cancelUpstream(task, env);
  await removeInputs(task, env);
  return submission.callbackUrl !== undefined || hasEndpoint(env.DB, submission.accountId);
}

/**
 * Separate writes before the settlement; each may be repeated. A character that its account has deleted in the meantime is not created
 * again.
 */
async function keepCharacter(task: FinalTask, env: Env): Promise<void> {
  const { submission, result } = task;
  if (result?.kind !== "character" || (await isCharacterDeleted(env.DB, result.id))) return;
  await copyAsset(env.ASSETS, result.picture, characterPicture(result.id));
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
  const video = submission.source?.asset?.key;
  if (video?.startsWith(inputPrefix(id))) keys.push(video);
  if (keys.length === 0) return;
  await removeAssets(env.ASSETS, keys);
  await removeUnder(env.ASSETS, inputPrefix(id));
}

/** What a task's object asks of the account's wallet, and of the client token that submitted the task. Keyed by the task: every call may be repeated. */

import { toAttributes } from "../log-fields.ts";
import { knownProofDays, maxBatchTasks, maxOpenTasks } from "../../config.ts";
import { chargeVersion } from "../../base/versions.ts";
import type { Made } from "../../db/fingerprints.ts";
import type { Charge, Outcome } from "../../db/ledger.ts";
import { type BookedAttempt, setAttemptCost } from "../../db/settled-sums.ts";
import { insertReference } from "../../db/references.ts";
import { withSpan } from "../../tracing.ts";
import type { ReserveAnswer } from "../../wallet/limits.ts";
import { listAssets } from "../answers/views.ts";
import { lateAttempt, toAttempts } from "../booking.ts";
import { type FinalTask, isFinal, type Task } from "../record.ts";

const toCharge = ({ id, submission: { accountId, keyId, kind, model } }: Task): Charge => ({
  v: chargeVersion,
  taskId: id,
  accountId,
  keyId,
  kind,
  model,
});

const openWallet = (env: Env, { submission }: Task) => env.WALLETS.getByName(submission.accountId);
const openToken = ({ TOKENS }: Env, { submission: { token } }: Task) =>
  token === undefined ? undefined : TOKENS.get(TOKENS.idFromString(token));

/**
 * Reserves the task's price, first from the allowance of a client token: `token` if the allowance does not suffice. Then makes the task
 * findable by its reference; if that cannot be written, the task is not accepted. Throws if the outcome is unknown.
 */
export const reservePrice = (task: Task, env: Env) => withSpan("reserve", toAttributes(task), () => reserve(task, env));

async function reserve(task: Task, env: Env): Promise<ReserveAnswer | { answer: "token" }> {
  const { id, createdAt, submission } = task;
  const { accountId, reference, price, maxKeyTasks, batch } = submission;
  const token = openToken(env, task);
  if (token && !(await token.take(id, price))) return { answer: "token" };
  const rules = { maxOpenTasks: batch ? maxBatchTasks(env) : maxOpenTasks(env), ...(maxKeyTasks !== undefined && { maxKeyTasks }) };
  const given = await openWallet(env, task).reserve(toCharge(task), price, rules);
  if (token && given.answer !== "reserved") await token.giveBack(id);
  if (given.answer === "reserved" && reference !== undefined)
    await insertReference(env.DB, { accountId, reference, at: createdAt, taskId: id });
  return given;
}

const settle = (
  task: Task,
  env: Env,
  charged: number,
  outcome: Outcome,
  held?: number,
  made?: Made,
  attempts?: BookedAttempt[],
): Promise<void> =>
  withSpan("settle", toAttributes(task), async () => openWallet(env, task).settle(toCharge(task), charged, outcome, held, made, attempts));

/** Settles the hold of a final task, with the fingerprints of its files and with what the makers bill. A client token gets back what was not charged. */
export async function settlePrice(task: FinalTask, env: Env): Promise<void> {
  const { price } = task.submission;
  const outcome = task.isBusy ? "refused" : (task.error ?? "completed");
  await settle(task, env, task.charged, outcome, price, filesToProve(task, env), toAttempts(task));
  if (task.charged < price) await openToken(env, task)?.take(task.id, task.charged);
}

/** The files whose fingerprints are kept. Not a character's image: it is a part of the caller's own video. */
function filesToProve({ result, finalAt }: FinalTask, env: Env): Made | undefined {
  if (!result || result.kind === "character" || knownProofDays(env) === 0) return undefined;
  return { at: finalAt, files: listAssets(result).map(({ digest, type, credentials = "none" }) => ({ digest, type, credentials })) };
}

/**
 * Writes what a maker bills for an attempt, which is known only after the task's settlement. Throws if the settlement or this is not written: repeat it.
 */
export async function bookLate(task: Task, route: number, cost: number | null, env: Env): Promise<void> {
  if (task.submission.routes[route]?.cost === undefined) return;
  await openWallet(env, task).writeEnded();
  await setAttemptCost(env.DB, task.id, lateAttempt(task, route, cost), Date.now());
}

/** Releases what may be held for a task whose submission was refused. */
export async function returnPrice(task: Task, env: Env): Promise<void> {
  await settle(task, env, 0, "refused");
  await openToken(env, task)?.giveBack(task.id);
}

/** Reports to a wallet that lost its storage the amount that this task holds, or its charge. */
export async function reportToWallet(task: Task, env: Env): Promise<void> {
  if (isFinal(task)) await settlePrice(task, env);
  else await openWallet(env, task).recover(toCharge(task), task.submission.price);
}

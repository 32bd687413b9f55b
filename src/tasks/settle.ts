/** What the end of a task means for the world: books, character, upstream, inputs. Every step of it may be repeated. */

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

/** What log lines say of a task: identifiers, never what it is about. */
export const logFields = ({ id, submission, route, faults }: Task) => ({
  request: submission.requestId,
  task: id,
  account: submission.accountId,
  model: submission.model,
  provider: currentRoute({ submission, route }).provider,
  attempt: faults + 1,
});

const tokenOf = ({ TOKENS }: Env, { submission: { token } }: Task) => token && TOKENS.get(TOKENS.idFromString(token));

/**
 * Holds the task's price, of a browser token's allowance first: `token` when that does not suffice. A task with a reference is then found by it;
 * when that cannot be written, the task is not accepted.
 */
export async function reservePrice(task: Task, env: Env): Promise<Awaited<ReturnType<typeof reserve>> | "token"> {
  const { id, createdAt, submission } = task;
  const { accountId, reference, price } = submission;
  const token = tokenOf(env, task);
  if (token && !(await token.take(id, price))) return "token";
  const answer = await reserve(env.DB, toCharge(task), price, maxOpenTasks(env), submission.maxKeyTasks);
  if (token && answer !== "reserved") await token.giveBack(id);
  if (answer === "reserved" && reference !== undefined) await insertReference(env.DB, { accountId, reference, at: createdAt, taskId: id });
  return answer;
}

/** Gives back what the ledger may hold for a task that nobody was told of. */
export async function returnPrice(task: Task, env: Env): Promise<void> {
  await settle(env.DB, toCharge(task), 0, "refused");
  const token = tokenOf(env, task);
  if (token) await token.giveBack(task.id);
}

/**
 * Settles a task that has ended, keeps its character, cancels it at the provider where it may go on, removes the inputs. Returns whether
 * there is an address to call back: the task's own, or its account's endpoint as it stood in the same transaction.
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

/** Best effort: what the caller pays is decided, only the operator's bill is smaller. Returns whether the provider took the cancellation. */
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
 * Cancels what a provider accepted for a task that had ended by then. The operator may be billed for it and the caller is not: the log
 * line says what the caller would have paid, in millionths.
 */
export async function cancelLate(task: Task, operation: Operation, env: Env): Promise<void> {
  const isCancelled = await cancelUpstream({ ...task, operation }, env);
  alert("cancel", { ...logFields(task), outcome: isCancelled ? "late_cancelled" : "late_not_cancelled", cost: task.submission.price });
}

/** By their keys, and by the task's name: a submission that is repeated after a crash brings its images again. */
export async function removeInputs({ id, submission }: Task, env: Env): Promise<void> {
  const keys = submission.inputs.flatMap(({ key }) => key ?? []);
  if (keys.length === 0) return;
  await removeAssets(env.ASSETS, keys);
  await removeUnder(env.ASSETS, inputPrefix(id));
}

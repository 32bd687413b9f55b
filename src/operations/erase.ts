/** Erases an account and its owner: at once in D1, then task by task, and once more for requests that were running. Every step may be repeated. */

import { hourMs } from "../base/times.ts";
import { characterPicture, removeAssets, removeUnder } from "../storage/assets.ts";
import { filePrefix } from "../storage/files.ts";
import { eraseFiles } from "../db/files.ts";
import { deleteBatch, listBatches } from "../db/batches.ts";
import { deadlineSeconds } from "../catalog/models.ts";
import {
  beginErasure,
  charactersToErase,
  endErasure,
  eraseCharacters,
  erasePerson,
  eraseReferences,
  type Erasure,
  findErasure,
  listErasures,
  moveErasure,
  tasksToErase,
} from "../db/erasure.ts";
import type { Actor } from "../db/audit-log.ts";
import { recordSeconds } from "../base/life-times.ts";
import { alert } from "../base/log.ts";
import { eraseChanges } from "../storage/change-log.ts";
import { eraseArchive } from "./erase-archive.ts";
import type { Announcer } from "../db/account-changes.ts";
import type { Objects } from "../rpc/objects.ts";

/** The number of tasks in one pass; each needs up to three calls to its object. */
const maxTasks = 100;
const maxRows = 500;
/** The number of passes in one request. */
const maxPasses = 3;
/** The age at which no task has a record any more: the longest deadline, the time that records are kept, and an hour. Younger entries are never archived. */
export const recordMs = 1000 * (Math.max(...Object.values(deadlineSeconds)) + recordSeconds) + hourMs;
/** The time after which no isolate accepts the account's keys and no submission from before the erasure is running. */
const underWayMs = 60_000;

type Bindings = Pick<OperationsBindings, "DB" | "ASSETS">;

/**
 * Begins the erasure of an account, or continues it. "erased": nothing is left except requests that may still be running, whose data the
 * checks erase in a minute; "continues": the checks erase the remaining tasks; "unknown": the account does not exist. Throws if a storage
 * or an object does not answer.
 */
export async function erase(
  { DB, ASSETS }: Bindings,
  objects: Objects,
  accountId: string,
  by: Actor = { kind: "operator", id: null, address: null },
): Promise<"erased" | "continues" | "unknown"> {
  const now = Date.now();
  if (!(await beginErasure(DB, by, accountId, now)) && !(await findErasure(DB, accountId))) return "unknown";
  for (let pass = 0; pass < maxPasses; pass++) if (await erasePart({ DB, ASSETS }, objects, accountId, now)) return "erased";
  return "continues";
}

/** Continues incomplete erasures with a pass for each of some. A failed pass is logged and repeated by the next run. */
export async function continueErasures({ DB, ASSETS }: Bindings, objects: Objects): Promise<void> {
  for (const { accountId } of await listErasures(DB, 5)) {
    try {
      await erasePart({ DB, ASSETS }, objects, accountId, Date.now());
    } catch (error) {
      alert("erase", { account: accountId, outcome: "retry" }, error);
    }
  }
}

/** One pass. True if it found nothing more to erase. */
async function erasePart({ DB, ASSETS }: Bindings, objects: Objects, accountId: string, now: number): Promise<boolean> {
  const erasure = await findErasure(DB, accountId);
  if (!erasure) return true;
  // A wallet that does not answer delays no erasure: the keys are refused without an announcement, and the next pass announces it.
  let fault: unknown;
  const announcer: Announcer = {
    announceKeys: (id, change) =>
      objects.announceKeys(id, change).catch((error: unknown) => {
        fault = error;
        return Date.now();
      }),
  };
  await erasePerson(DB, announcer, accountId, now);
  if (fault) throw fault;
  await objects.storeChanges(accountId);
  await eraseChanges(ASSETS, accountId);
  const isLate = erasure.beganAt + underWayMs < now;
  const isDone = [
    // Before the tasks: a batch begins new ones.
    await eraseBatches(DB, objects, accountId),
    await eraseOpen(objects, accountId),
    await eraseWritten(DB, objects, erasure, now),
    await eraseAllCharacters({ DB, ASSETS }, accountId, now),
    (await eraseReferences(DB, accountId, maxRows)) < maxRows,
    await eraseArchive({ DB, ASSETS }, accountId),
    await eraseAllFiles({ DB, ASSETS }, accountId),
  ].every(Boolean);
  if (isDone && isLate) await endErasure(DB, accountId);
  return isDone;
}

/** Cancels and erases tasks that D1 does not have: open ones, and ended ones that are not written yet. Chats end by themselves. */
async function eraseOpen(objects: Objects, accountId: string): Promise<boolean> {
  const tasks = (await objects.unwritten(accountId)).filter(({ kind }) => kind !== "chat");
  const erased = [];
  for (const { taskId } of tasks.slice(0, maxTasks)) erased.push(await objects.erase(accountId, taskId));
  return erased.every(Boolean) && tasks.length <= maxTasks;
}

/** Erases tasks that D1 has, from where the last pass ended. */
async function eraseWritten(db: Env["DB"], objects: Objects, erasure: Erasure, now: number): Promise<boolean> {
  const tasks = await tasksToErase(db, erasure, now - recordMs, maxTasks);
  for (const { at, taskId } of tasks) {
    if (!(await objects.erase(erasure.accountId, taskId))) return false;
    Object.assign(erasure, { at, taskId });
  }
  await moveErasure(db, erasure);
  return tasks.length < maxTasks;
}

async function eraseBatches(db: Env["DB"], objects: Objects, accountId: string): Promise<boolean> {
  const ids = await listBatches(db, { accountId }, { limit: maxTasks });
  for (const id of ids) {
    await objects.eraseBatch(accountId, id);
    await deleteBatch(db, accountId, id);
  }
  return ids.length < maxTasks;
}

/** The rows first: no upload adds one for an erased account. */
async function eraseAllFiles({ DB, ASSETS }: Bindings, accountId: string): Promise<true> {
  await eraseFiles(DB, accountId);
  await removeUnder(ASSETS, filePrefix(accountId));
  return true;
}

async function eraseAllCharacters({ DB, ASSETS }: Bindings, accountId: string, now: number): Promise<boolean> {
  const ids = await charactersToErase(DB, accountId, maxRows);
  await removeAssets(ASSETS, ids.map(characterPicture));
  await eraseCharacters(DB, ids, now);
  return ids.length < maxRows;
}

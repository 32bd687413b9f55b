/** The invariants after a run, whatever failed in it. */

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { listCredits } from "../../src/db/credits.ts";
import { readRows } from "../../src/db/grants.ts";
import { sweepBatches } from "../../src/operations/sweep-batches.ts";
import { Objects } from "../../src/rpc/objects.ts";
import { listAssets } from "../../src/tasks/answers/views.ts";
import { isFinal, type Task } from "../../src/tasks/record.ts";
import { readBalance } from "../support/gateway.ts";
import { checkBatches } from "./batches.ts";
import { checkUploads } from "./files.ts";
import { checkBudgets, checkRead } from "./readers.ts";
import { checkTokens } from "./tokens.ts";
import type { World } from "./world.ts";

export interface Entry {
  id: string;
  kind: string;
  model: string;
  held: number;
  charged: number;
  /** null while it is open */
  outcome: string | null;
}

/** Every task and chat of an account that held something: in D1, or in its wallet object. */
async function readLedger(accountId: string): Promise<Map<string, Entry>> {
  const unwritten = await env.WALLETS.getByName(accountId).unwritten();
  const { results } = await env.DB.prepare("SELECT task_id AS id, kind, model, held, charged, outcome FROM entry WHERE account_id = ?1")
    .bind(accountId)
    .run<Entry>();
  const own = unwritten.map(({ taskId, kind, model, held, end }) => ({
    kind,
    id: taskId,
    model,
    held,
    charged: end?.charged ?? 0,
    outcome: end?.outcome ?? null,
  }));
  return new Map([...results, ...own].map((entry) => [entry.id, entry]));
}

async function keysUnder(prefix: string): Promise<string[]> {
  const { objects, truncated } = await env.ASSETS.list({ prefix });
  expect(truncated).toBe(false);
  return objects.map(({ key }) => key);
}

/** Deletes the files that a failed run left. */
export async function clearBucket(): Promise<void> {
  const keys = await keysUnder("");
  if (keys.length > 0) await env.ASSETS.delete(keys);
}

async function readRecords(world: World): Promise<Map<string, Task>> {
  const records = new Map<string, Task>();
  for (const known of world.objects.all.values()) {
    const { task } = await world.objects.stored(known);
    if (task) records.set(task.id, task);
  }
  return records;
}

/** During a run: every object with stored data has an alarm, and wallets agree with the ledger. */
export async function checkMoving(world: World): Promise<void> {
  for (const known of world.objects.all.values()) {
    const { isEmpty, alarm } = await world.objects.stored(known);
    if (!isEmpty && known.kind !== "wallet") expect(alarm, `${known.label} stands still`).not.toBeNull();
  }
  for (const { id } of world.accounts) {
    const wallet = env.WALLETS.getByName(id);
    const isOwing = (await wallet.unwritten()).some(({ end, deadline }) => end ?? deadline);
    if (isOwing) expect(await runInDurableObject(wallet, (_, { storage }) => storage.getAlarm()), "a wallet stands still").not.toBeNull();
  }
  for (const account of world.accounts) await readBalance(account);
  await checkUploads(world);
  const records = await readRecords(world);
  for (const [id, { account }] of world.accepted) {
    const label = world.objects.ofTask(id)?.label;
    expect(records.has(id), `${label} was accepted and is gone`).toBe(true);
    expect((await readLedger(account.id)).get(id)?.held, `${label} was accepted and has no charge row`).toBeDefined();
  }
}

/** After the run: nothing is reserved, each task was charged as its record says, and every file belongs to a task. */
export async function checkFinal(world: World): Promise<void> {
  const records = await readRecords(world);
  for (const task of records.values()) expect(isFinal(task), `${world.objects.ofTask(task.id)?.label} is ${task.step.do}`).toBe(true);
  const ledgers = new Map<string, Map<string, Entry>>();
  for (const account of world.accounts) {
    expect(await readBalance(account)).toMatchObject({ reserved: 0 });
    expect((await readRows(env.DB, [account.id]))[0], "grants go back").toMatchObject({ granted: 0 });
    expect(await env.WALLETS.getByName(account.id).unwritten(), "everything is written").toEqual([]);
    const ledger = await readLedger(account.id);
    ledgers.set(account.id, ledger);
    for (const [id, entry] of ledger) {
      const label = world.objects.ofTask(id)?.label ?? "a chat";
      expect(entry.outcome, `${label} has no end in the ledger`).not.toBeNull();
      const task = records.get(id);
      if (task)
        expect(entry).toMatchObject({
          held: task.submission.price,
          charged: task.charged,
          outcome: toOutcome(task),
        });
      else if (label !== "a chat" && !world.deletions.has(id)) expect(entry.charged, `${label} was charged and is gone`).toBe(0);
    }
  }
  for (const [id, { account, reserved }] of world.accepted) {
    const held = ledgers.get(account.id)!.get(id)?.held;
    expect(held, "a task keeps its price").toBe(reserved === undefined ? held : Math.round(1e6 * reserved));
    expect(held).toBeDefined();
  }
  await checkFiles(world, records);
  checkTokens(world, records);
  await world.outside.check(records);
  await checkBatches(world, ledgers);
  await checkBudgets(world);
  await checkRead(world, ledgers, records);
  for (const { account, id, seen } of world.accepted.values()) {
    if (world.deletions.has(id)) continue;
    const { status, body } = await world.call(account, `/v1/tasks/${id}`);
    expect(status).toBe(200);
    if (seen?.status === "completed" || seen?.status === "failed") expect(body.data.status).toBe(seen.status);
  }
}

const toOutcome = (task: Task) => (isFinal(task) && task.isBusy ? "refused" : (task.error ?? "completed"));

async function checkFiles(world: World, records: Map<string, Task>): Promise<void> {
  const inputs = await keysUnder("inputs/");
  const toName = (key: string) => world.objects.ofTask(key.split("/")[1]!)?.label ?? "a task that never was";
  expect(inputs.filter((key) => !world.isForsaken(key)).map(toName), "inputs that no open task needs").toEqual([]);
  const assets = await keysUnder("assets/");
  expect(assets.filter((key) => !records.has(key.split("/")[1]!)).map(toName), "assets without a task").toEqual([]);
  for (const { result, expiresAt = 0 } of records.values()) {
    const named = result && expiresAt > Date.now() ? listAssets(result) : [];
    for (const { key } of named) expect(assets, "a completed task has its assets").toContain(key);
  }
  await checkCharacters(world);
}

/** Every character has its image, unless its deletion failed half-way, and every image belongs to a character. */
async function checkCharacters(world: World): Promise<void> {
  const accounts = JSON.stringify(world.accounts.map(({ id }) => id));
  const statement = env.DB.prepare("SELECT id FROM character WHERE account_id IN (SELECT value FROM json_each(?1))").bind(accounts);
  const ids = (await statement.run<{ id: string }>()).results.map(({ id }) => id);
  const images = (await keysUnder("characters/")).map((key) => key.slice("characters/".length));
  expect(images.filter((id) => !ids.includes(id) && !world.lostCharacters.has(id)).length, "images without a character").toBe(0);
  expect(ids.filter((id) => !images.includes(id) && !world.deleting.has(id)).length, "characters without an image").toBe(0);
}

/** A week later: no files except the images of characters, no storage, no alarm, no record. */
export async function checkEnd(world: World): Promise<void> {
  expect(await keysUnder("assets/"), "assets a week later").toEqual([]);
  expect(
    (await keysUnder("inputs/")).filter((key) => !world.isForsaken(key)),
    "inputs a week later",
  ).toEqual([]);
  await sweepBatches(env, new Objects(env), Date.now());
  if (!world.isRestored) expect(await keysUnder("batches/"), "inputs of batches").toEqual([]);
  for (const known of world.objects.all.values()) {
    known.stored = undefined;
    const { isEmpty, alarm } = await world.objects.stored(known);
    expect(alarm, `${known.label} has an alarm`).toBeNull();
    // A wallet keeps its written entries and credits, in case the database is restored.
    const accountId = known.id.name ?? "";
    const keeps =
      known.kind === "wallet" && ((await readLedger(accountId)).size > 0 || (await listCredits(env.DB, accountId, 1)).length > 0);
    if (keeps || known.kind !== "wallet") expect(isEmpty, `${known.label} is left`).toBe(!keeps);
  }
  for (const { account, id } of world.accepted.values()) expect((await world.call(account, `/v1/tasks/${id}`)).status).toBe(404);
  for (const account of world.accounts) expect(await readBalance(account)).toMatchObject({ reserved: 0 });
}

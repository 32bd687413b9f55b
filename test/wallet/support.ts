/** A wallet object in tests: its calls, its alarm, a crash, and the invariants that hold at every moment. */

import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, vi } from "vitest";
import { readRows } from "../../src/db/grants.ts";
import type { Charge } from "../../src/db/ledger.ts";
import { bindings } from "../support/faults.ts";
import type { Account } from "../support/gateway.ts";

export const openWallet = ({ id }: Account) => env.WALLETS.getByName(id);

let tasks = 0;

/** A charge with a new task id. */
export const newCharge = (account: Account, kind = "image"): Charge => ({
  taskId: `task_${String(++tasks).padStart(8, "0")}_${crypto.randomUUID().slice(0, 8)}`,
  accountId: account.id,
  keyId: account.keyId,
  kind,
  model: kind === "chat" ? "textA-1" : "imgA-4",
});

/** Runs the object's alarm if one is set. */
export const wake = (account: Account) => runDurableObjectAlarm(openWallet(account));

/** The object crashes: its storage remains, its memory and running calls are lost. */
export const crashWallet = async (account: Account): Promise<void> => {
  await runInDurableObject(openWallet(account), (_, ctx) => ctx.abort("scripted crash")).catch(() => undefined);
};

/** Calls `then` after each batch that D1 has made and before its answer. Returns the number of batches so far. */
export function afterBatches(then: (count: number) => Promise<void>): () => number {
  const database = bindings.database();
  const original = database["batch"]!;
  let count = 0;
  vi.spyOn(database, "batch").mockImplementation(async function (this: unknown, ...values: unknown[]) {
    const result = await original.apply(this, values);
    await then(++count);
    return result;
  });
  return () => count;
}

/** When the object's alarm is set; null without one. */
export const alarmOf = (account: Account) => runInDurableObject(openWallet(account), (_, { storage }) => storage.getAlarm());

/** The account's row in D1. */
export const readRow = async ({ id }: Account) => (await readRows(env.DB, [id]))[0]!;

export interface EntryRow {
  taskId: string;
  held: number;
  charged: number;
  outcome: string;
}

export const readEntries = async ({ id }: Account) =>
  (
    await env.DB.prepare("SELECT task_id AS taskId, held, charged, outcome FROM entry WHERE account_id = ?1 ORDER BY at, task_id")
      .bind(id)
      .run<EntryRow>()
  ).results;

/** The test's record of a task or chat. */
export interface Known {
  charge: Charge;
  amount: number;
  /** undefined while it is open */
  charged?: number;
}

/** Invariants 1 to 4 while no call is running: the sums of D1, of the object and of the answers to callers agree to the millionth. */
export async function expectSound(account: Account, known: Iterable<Known>): Promise<void> {
  const all = [...known];
  const sum = (of: (task: Known) => number) => all.reduce((total, task) => total + of(task), 0);
  const held = sum(({ amount, charged }) => (charged === undefined ? amount : 0));
  const used = sum(({ charged }) => charged ?? 0);
  const balances = await openWallet(account).balances([account.keyId]);
  for (const id of [account.id, account.keyId]) {
    expect(balances[id], "what callers see").toMatchObject({ used, reserved: held });
    const { quota } = balances[id]!;
    if (quota !== null) expect(quota - used - held).toBeGreaterThanOrEqual(0);
  }
  const row = await readRow(account);
  const entries = await readEntries(account);
  expect(entries.length, "one entry for each task").toBe(new Set(entries.map(({ taskId }) => taskId)).size);
  expect(row.used, "entries are what is used").toBe(entries.reduce((total, { charged }) => total + charged, 0));
  const unwritten = await openWallet(account).unwritten();
  const owed = unwritten.reduce((total, { end }) => total + (end?.charged ?? 0), 0);
  expect(row.granted, "granted covers what is held and owed").toBeGreaterThanOrEqual(held + used - row.used);
  expect(row.used + owed, "written and owed are what was charged").toBeGreaterThanOrEqual(used);
  if (row.quota !== null) expect(row.quota - row.granted - row.used).toBeGreaterThanOrEqual(0);
  const places = new Set([...entries.map(({ taskId }) => taskId), ...unwritten.map(({ taskId }) => taskId)]);
  for (const { charge } of all) expect(places.has(charge.taskId), `${charge.taskId} is in no book`).toBe(true);
}

/** Everything has ended and is written: nothing is granted, and each task has the expected entry. */
export async function expectFinal(account: Account, known: Iterable<Known>): Promise<void> {
  const row = await readRow(account);
  expect(row).toMatchObject({ granted: 0 });
  const entries = new Map((await readEntries(account)).map((entry) => [entry.taskId, entry]));
  for (const { charge, amount, charged } of known) expect(entries.get(charge.taskId)).toMatchObject({ held: amount, charged });
  expect(await openWallet(account).unwritten()).toEqual([]);
}

/** The operations of a run that read what must not change: events, receipts, balances; and that they agree with the ledger at the end. */

import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { type Account, asAdmin, type Balance } from "../support/gateway.ts";
import type { Task } from "../../src/tasks/record.ts";
import type { Entry } from "./invariants.ts";
import type { World } from "./world.ts";

/** Balance units as millionths. */
export const micro = (units: number) => Math.round(units * 1e6);

/** Reads on in an account's events, from the last one that was read. */
export async function readEvents(world: World): Promise<string> {
  const account = world.random.pick(world.accounts);
  const { status, count } = await readOn(world, account, world.random.int(1, 3));
  if (status !== 200) expect(world.faultInjector.scope.faults, `events ${status}`).toBeGreaterThan(0);
  return `${status} ${count}`;
}

async function readOn(world: World, account: Account, limit: number): Promise<{ status: number; count: number; hasMore: boolean }> {
  const read = world.events.get(account) ?? [];
  world.events.set(account, read);
  const { status, body } = await world.call(account, `/v1/events?limit=${limit}${read.length > 0 ? `&after=${read.at(-1)}` : ""}`);
  // A restored database may lack the event of a delivery.
  if (status === 400 && world.isRestored) read.length = 0;
  if (status !== 200) return { status, count: 0, hasMore: status === 400 };
  const ids = (body.data as { id: string }[]).map(({ id }) => id);
  read.push(...ids);
  return { status, count: ids.length, hasMore: body.has_more as boolean };
}

/** Reads a task's receipt, which is the same each time. */
export async function readReceipt(world: World): Promise<string> {
  if (world.accepted.size === 0) return "none";
  const task = world.random.pick([...world.accepted.values()]);
  const { status, body } = await world.call(task.account, `/v1/tasks/${task.id}/receipt`);
  if (status !== 200) return String(status);
  task.receipt ??= body.jws as string;
  expect(body.jws, "a receipt does not change").toBe(task.receipt);
  return "200";
}

/** What an account has, is used and is reserved adds up at every moment. */
export async function readMoney(world: World): Promise<string> {
  const account = world.random.pick(world.accounts);
  const answer = await asAdmin(`/accounts/${account.id}`);
  if (answer.status !== 200) return String(answer.status);
  const { quota, used, reserved, remaining } = answer.body as Balance;
  expect(Math.min(used, reserved, remaining ?? 0), "nothing is below zero").toBeGreaterThanOrEqual(0);
  if (quota !== null) expect(micro(quota)).toBe(micro(remaining!) + micro(used) + micro(reserved));
  return "200";
}

const toEvent = (taskId: string) => taskId.replace("task_", "evt_");

/** No account and no key has spent more in a day than its budget. */
export async function checkBudgets({ budgets }: World): Promise<void> {
  for (const [id, amount] of budgets) {
    const spent = "SELECT sum(charged) AS spent FROM entry WHERE account_id = ?1 OR key_id = ?1 GROUP BY at / 86400000";
    const most = await env.DB.prepare(`SELECT max(spent) AS most FROM (${spent})`).bind(id).first<number>("most");
    expect(most ?? 0, "spent in a day").toBeLessThanOrEqual(amount);
  }
}

/** A reader who went on from event to event has read each ended task once, and receipts say what the ledger says. */
export async function checkRead(world: World, ledgers: Map<string, Map<string, Entry>>, records: Map<string, Task>): Promise<void> {
  for (const account of world.accounts) {
    while ((await readOn(world, account, 100)).hasMore);
    const tasks = [...ledgers.get(account.id)!.values()].filter(({ kind, outcome }) => kind !== "chat" && outcome !== "refused");
    const read = world.events.get(account)!;
    const ends = read.filter((id) => !id.endsWith("-delivery"));
    expect(ends.toSorted(), "ends that a reader has seen").toEqual(tasks.map(({ id }) => toEvent(id)).toSorted());
    expect(new Set(read).size, "events that a reader has seen twice").toBe(read.length);
    const delivered = tasks.filter(({ id }) => records.get(id)?.delivery).map(({ id }) => `${toEvent(id)}-delivery`);
    // A restored database lacks those of deliveries.
    if (!world.isRestored) expect(read, "deliveries that a reader has seen").toEqual(expect.arrayContaining(delivered));
  }
  for (const { account, id } of world.accepted.values()) {
    if (world.deletions.has(id)) continue;
    const { status, body } = await world.call(account, `/v1/tasks/${id}/receipt`);
    expect(status).toBe(200);
    const { held, charged } = ledgers.get(account.id)!.get(id)!;
    expect([body.receipt.reserved, body.receipt.charged].map(micro), "a receipt").toEqual([held, charged]);
    expect(body.jws).toBe(world.accepted.get(id)!.receipt ?? body.jws);
  }
}

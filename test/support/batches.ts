/** Batches in tests: begun with lines, woken, run to their end, and read. */

import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, vi } from "vitest";
import { toBatchObjectId } from "../../src/base/ids.ts";
import { type Account, alarm, call, finish, unique } from "./gateway.ts";

export const images = "/v1/images/generations";
export const price = 0.03;

export interface Result {
  custom_id: string;
  status: string;
  task?: string;
  response?: { result?: { images: { url: string[] }[] } };
  error?: { code: string; param: string };
  cost: { reserved: number; charged: number; returned: number };
}

export const line = (id: string, more: object = {}) => ({
  custom_id: id,
  endpoint: images,
  body: { model: "imgA-4", prompt: `${id} ${unique()}`, ...more },
});
export const lines = (count: number, more: object = {}) => Array.from({ length: count }, (_, at) => line(`line-${at}`, more));

export async function begin(account: Account, body: object): Promise<string> {
  const answer = await call("/v1/batches", { key: account.key, body });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body.id as string;
}

export const openBatch = (id: string) => env.BATCHES.get(toBatchObjectId(env.BATCHES, id)!);
export const wake = (id: string) => runDurableObjectAlarm(openBatch(id));
/** When the alarm of the batch's object is due. */
const alarmAt = (id: string) => runInDurableObject(openBatch(id), (_, { storage }) => storage.getAlarm());
/** The object loses its memory; stored data remains. */
export const forget = (id: string) => evictDurableObject(openBatch(id)).catch(() => undefined); // it was not in memory
export const show = async (account: Account, id: string) => (await call(`/v1/batches/${id}`, { key: account.key })).body;

export async function readResults(account: Account, id: string): Promise<Result[]> {
  const { body } = await call(`/v1/batches/${id}/results`, { key: account.key });
  return new TextDecoder()
    .decode(body as ArrayBuffer)
    .split("\n")
    .filter((text) => text !== "")
    .map((text) => JSON.parse(text) as Result);
}

export const openTasks = async ({ key }: Account): Promise<string[]> =>
  (await call("/v1/tasks?limit=100", { key })).body.data
    .filter(({ status }: { status: string }) => status === "queued" || status === "in_progress")
    .map(({ id }: { id: string }) => id);

/** Runs alarms and tasks until the batch has ended. */
export async function run(account: Account, id: string, rounds = 60): Promise<Awaited<ReturnType<typeof show>>> {
  for (let round = 0; round < rounds; round++) {
    await wake(id);
    const batch = await show(account, id);
    if (["completed", "cancelled", "failed"].includes(batch.status)) return batch;
    const open = await openTasks(account);
    for (const task of open) await finish(account, task);
    // A task whose report was lost repeats it with its settlement.
    if (open.length === 0)
      for (const { id: task } of (await call("/v1/tasks?limit=100", { key: account.key })).body.data) await alarm(task);
    vi.setSystemTime(Date.now() + 5_000);
  }
  return show(account, id);
}

/** Runs the alarms of the batch and its tasks as they come, for at most this many hours. */
export async function pass(account: Account, id: string, hours: number): Promise<void> {
  for (const until = Date.now() + hours * 3_600_000; Date.now() < until && (await show(account, id)).status === "in_progress";) {
    await wake(id);
    for (const task of await openTasks(account)) await finish(account, task);
    vi.setSystemTime(Math.max(Date.now(), (await alarmAt(id)) ?? 0));
  }
}

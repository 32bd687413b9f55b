/** Counts the operations that Cloudflare bills, at the classes of the bindings: rows written in D1 and in every object, alarms, calls, messages, files, log lines. */

import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, vi } from "vitest";
import { statusLogShare } from "../../src/config.ts";
import { TaskObject } from "../../src/tasks/task-object.ts";
import { WalletObject } from "../../src/tasks/wallet-object.ts";
import type { Operations } from "../../scripts/support/operations.ts";
import { bindings, nothingStored, spyOn, openStorage, openStub } from "./faults.ts";
import { type Account, readBalance, deliver, newAccount, submit } from "./gateway.ts";

type Methods = Record<string, (...values: unknown[]) => Promise<unknown>>;

interface Written {
  meta: { rows_written: number };
}

/** The classes of an object's storage, which are the same for all objects. */
const storageClasses = () =>
  runInDurableObject(env.TASKS.get(env.TASKS.newUniqueId()), (_, { storage }) => ({
    storage: Object.getPrototypeOf(storage) as Methods,
    kv: Object.getPrototypeOf(storage.kv) as Methods,
  }));

const readCalls = (target: Methods, methods: string[]) => {
  const spies = methods.map((method) => spyOn(target, method).mockClear());
  return () => spies.reduce((sum, { mock }) => sum + mock.calls.length, 0);
};

/**
 * Starts counting. A `put` or `delete` of a key and a `setAlarm` are a row each; `deleteAll` drops an object's database and is not billed
 * by rows. A call of an object is counted when a stub is created for it; the stubs of `live` are not.
 */
export async function startMeter(): Promise<() => Promise<Operations>> {
  const { storage, kv } = await storageClasses();
  const single = spyOn(bindings.statement(), "run").mockClear();
  const batches = spyOn(bindings.database(), "batch").mockClear();
  const first = spyOn(bindings.statement(), "first").mockClear();
  const records = readCalls(kv, ["put", "delete"]);
  const alarms = readCalls(storage, ["setAlarm"]);
  const stubs = readCalls(bindings.namespace(), ["get", "getByName"]);
  const woken = [TaskObject, WalletObject].map(({ prototype }) => vi.spyOn(prototype, "alarm").mockClear());
  const messages = readCalls(bindings.queue(), ["send"]);
  const classA = readCalls(bindings.bucket(), ["put", "list", "createMultipartUpload"]);
  const classB = readCalls(bindings.bucket(), ["get", "head"]);
  ownStubs = 0;
  const lines = (["log", "error"] as const).map((method) => vi.spyOn(console, method).mockClear());
  return async () => {
    const results = [
      ...(await Promise.all(single.mock.results.map((result) => result.value as Promise<Written>))),
      ...(await Promise.all(batches.mock.results.map((result) => result.value as Promise<Written[]>))).flat(),
    ];
    const count = (spies: { mock: { calls: unknown[] } }[]) => spies.reduce((sum, { mock }) => sum + mock.calls.length, 0);
    const isRequest = ([line]: unknown[]) => String(line).includes('"unit":"request"');
    // Local gateways log the steps of a task as well (`LOG`), also the calls of providers, and each submission (`LOG_STATUS_EVERY`).
    const isStep = ([line]: unknown[]) => /"unit":"(dispatch|poll|callback)"|"path":"POST \/callbacks\//.test(String(line));
    const isSubmission = ([line]: unknown[]) => /"path":"POST \/v1\/(images|videos)\/generations","status":200/.test(String(line));
    const submissions = lines[0]!.mock.calls.filter(isSubmission).length;
    const loggedEach = lines[0]!.mock.calls.filter((line) => !isStep(line) && !isSubmission(line)).length;
    return {
      requests: lines[0]!.mock.calls.filter(isRequest).length,
      d1Rows: results.reduce((sum, { meta }) => sum + meta.rows_written, 0),
      d1Calls: single.mock.calls.length + batches.mock.calls.length + first.mock.calls.length,
      objectRows: records(),
      alarmRows: alarms(),
      objectCalls: stubs() - ownStubs,
      alarms: count(woken),
      messages: messages(),
      classA: classA(),
      classB: classB(),
      logLines: loggedEach + submissions / statusLogShare({ ENVIRONMENT: "production" } as Env) + lines[1]!.mock.calls.length,
    };
  };
}

const delivered = new WeakSet<object>();
/** Stubs that `live` made: nothing bills them. */
let ownStubs = 0;

/** Advances the time for tasks of an account: runs each alarm at its time and delivers each message when it was sent. Ends when no alarm is set before `until`. */
export async function live(account: Account, ids: string[], until: number): Promise<void> {
  const sends = spyOn(bindings.queue(), "send");
  const wallet = env.WALLETS.getByName(account.id);
  ownStubs += 1 + ids.length;
  const objects = new Map<string, DurableObjectStub>([...ids.map((id) => [id, openStub(id)] as const), [account.id, wallet]] as never);
  const alarms = new Map<string, number | null>();
  const look = async (id: string) => alarms.set(id, await runInDurableObject(objects.get(id)!, (_, ctx) => ctx.storage.getAlarm()));
  await Promise.all([...objects.keys()].map(look));
  for (;;) {
    for (const sent of sends.mock.calls) {
      if (delivered.has(sent)) continue;
      delivered.add(sent);
      const { taskId } = sent[0] as { taskId: string };
      await deliver(taskId);
      await look(taskId);
    }
    await look(account.id);
    const [next] = [...alarms].flatMap(([id, at]) => (at === null || at > until ? [] : { id, at })).sort((a, b) => a.at - b.at);
    if (!next) return;
    vi.setSystemTime(Math.max(Date.now(), next.at));
    await runDurableObjectAlarm(objects.get(next.id)!);
    await look(next.id);
  }
}

interface Course {
  /** Submits one task. */
  begin: (account: Account) => Promise<string>;
  /** An external event this many seconds later. */
  after?: { seconds: number; happens: () => Promise<void> };
  /** True if the account had as many tasks in the minute before. */
  isBusy?: boolean;
}

/** Runs tasks of one account in parallel until nothing of them is stored; returns the operations of each. */
export async function measureTasks(count: number, { begin, after, isBusy = false }: Course): Promise<Operations> {
  const account = await newAccount(10_000);
  const beginAll = () => Promise.all(Array.from({ length: count }, () => begin(account)));
  if (isBusy) await live(account, await beginAll(), Date.now() + 50_000);
  const finish = await startMeter();
  const ids = await beginAll();
  if (after) {
    const at = Date.now() + 1000 * after.seconds;
    await live(account, ids, at - 1);
    vi.setSystemTime(at);
    await after.happens();
  }
  await live(account, ids, Date.now() + 8 * 86_400_000);
  const operations = share(await finish(), count);
  for (const id of ids) expect({ id, ...(await openStorage(openStub(id))) }).toEqual({ id, ...nothingStored });
  expect(await readBalance(account)).toMatchObject({ reserved: 0 });
  return operations;
}

/** A task of this kind, on the configured routes. */
export const submitting = (path: string, body: () => object) => (account: Account) => submit(account, path, body());

/** The operations per task, in hundredths. */
export const share = (operations: Operations, count: number) =>
  Object.fromEntries(
    Object.entries(operations).map(([name, value]) => [name, Math.round((100 * value) / count) / 100]),
  ) as unknown as Operations;

/** Compares the counts with the table: shared operations may differ, because the order in which tasks end varies. */
export function expectAgrees(counted: Operations, table: Operations): void {
  for (const [name, value] of Object.entries(table))
    expect(Math.abs(counted[name as keyof Operations] - value), `${name}: ${JSON.stringify(counted)}`).toBeLessThanOrEqual(0.2);
}

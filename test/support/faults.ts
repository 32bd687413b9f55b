/** Makes a call of a binding fail, or stops everything between two steps. */

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, vi } from "vitest";
import { toObjectId, toTaskId } from "../../src/base/ids.ts";
import type { BatchObject } from "../../src/api/batches/object.ts";
import type { TaskObject } from "../../src/tasks/object/task-object.ts";
import { WalletObject } from "../../src/wallet/object.ts";

const findPrototype = (value: object) => Object.getPrototypeOf(value) as Record<string, (...values: unknown[]) => Promise<unknown>>;

/** The bindings' classes: a spy on one sees every call, also the gateway's own. */
export const bindings = {
  namespace: () => findPrototype(env.TASKS),
  statement: () => findPrototype(env.DB.prepare("SELECT 1")),
  database: () => findPrototype(env.DB),
  bucket: () => findPrototype(env.ASSETS),
  queue: () => findPrototype(env.DISPATCH),
  upload: async () => findPrototype(await env.ASSETS.createMultipartUpload("unused")),
};

/** Counts the calls of a method until the test ends. */
export const spyOn = (target: Record<string, (...values: unknown[]) => Promise<unknown>>, method: string) => vi.spyOn(target, method);

/** What each spy of `failOnce` stands for. */
const originals = new WeakMap<object, (...values: unknown[]) => Promise<unknown>>();

/**
 * The next call of a method, or the next `times` calls, fail; with `isDone` they take effect first, and `isMeant` selects the objects and
 * arguments concerned: others may still work for an earlier test.
 */
export function failOnce(
  target: Record<string, (...values: unknown[]) => Promise<unknown>>,
  method: string,
  isDone = false,
  times = 1,
  isMeant: (self: unknown, values: unknown[]) => boolean = () => true,
): void {
  const current = target[method]!;
  const original = originals.get(current) ?? current;
  const spy = vi.spyOn(target, method);
  originals.set(spy, original);
  const fail = async function (this: unknown, ...values: unknown[]): Promise<unknown> {
    if (!isMeant(this, values)) {
      spy.mockImplementationOnce(fail);
      return original.apply(this, values);
    }
    if (isDone) await original.apply(this, values);
    throw new Error("scripted fault");
  };
  for (let time = 0; time < times; time++) spy.mockImplementationOnce(fail);
}

const isWalletOf = (id: string) => (self: unknown) => (self as { ctx: DurableObjectState }).ctx.id.name === id;

/** `failOnce` for the wallet of one account. */
export const failWalletOnce = ({ id }: { id: string }, method: keyof WalletObject, isDone = false, times = 1): void =>
  failOnce(WalletObject.prototype as never, method, isDone, times, isWalletOf(id));

/**
 * The next call of a method never answers, as in a crash of the process; with `isDone` it takes effect first, and `isMeant` selects
 * the objects and arguments concerned. The returned function waits until that call was made.
 */
export function stopAt(
  target: Record<string, (...values: unknown[]) => Promise<unknown>>,
  method: string,
  isDone: boolean,
  isMeant: (self: unknown, values: unknown[]) => boolean = () => true,
): () => Promise<void> {
  const original = target[method]!;
  const seen = { isReached: false, isStopped: false };
  vi.spyOn(target, method).mockImplementation(async function (this: unknown, ...values: unknown[]) {
    if (seen.isReached || !isMeant(this, values)) return original.apply(this, values);
    seen.isReached = true;
    if (isDone) await original.apply(this, values);
    seen.isStopped = true;
    return new Promise(() => undefined);
  });
  // Polls, because a promise cannot be resolved from another request's context.
  return async () => {
    for (let turn = 0; !seen.isStopped && turn < 2_000; turn++) await scheduler.wait(1);
    expect(seen.isStopped).toBe(true);
  };
}

/** `stopAt` for the wallet of one account. */
export const stopWalletAt = ({ id }: { id: string }, method: keyof WalletObject, isDone: boolean): (() => Promise<void>) =>
  stopAt(WalletObject.prototype as never, method, isDone, isWalletOf(id));

/**
 * The `step`-th of all calls of these methods takes effect and never answers, and no later one begins: as if the machine stopped there. `isDead`
 * is true from then on; `revive` starts a new machine, whose calls answer.
 */
export function dieAt(
  step: number,
  doors: readonly (readonly [target: Record<string, (...values: unknown[]) => Promise<unknown>>, method: string])[],
): { isDead: () => boolean; revive: () => void } {
  let calls = 0;
  let isDead = false;
  const spies = doors.map(([target, method]) => {
    const original = target[method]!;
    return vi.spyOn(target, method).mockImplementation(async function (this: unknown, ...values: unknown[]) {
      if (!isDead && ++calls !== step) return original.apply(this, values);
      // A wallet's method makes calls itself, which belong to it.
      if (!isDead) await original.apply(this, values);
      isDead = true;
      return new Promise(() => undefined);
    });
  });
  return { isDead: () => isDead, revive: () => spies.forEach((spy) => spy.mockRestore()) };
}

/** Runs `act` once, between the sandbox's answer to a poll of this operation and the arrival of the answer. */
export function duringPoll(operation: string, act: () => Promise<unknown>): void {
  const upstream = findPrototype(env.SANDBOX!);
  const original = upstream["fetch"]!;
  let isOver = false;
  vi.spyOn(upstream, "fetch").mockImplementation(async function (this: unknown, ...values: unknown[]) {
    const answer = await original.apply(this, values);
    const [url, init] = values as [url: string, init?: RequestInit];
    if (isOver || url !== `http://sandbox/v1/operations/${operation}` || init?.method !== undefined) return answer;
    isOver = true;
    await act();
    return answer;
  });
}

/** An object of this class restarts at the next call of a method; with `isDone` the call has taken effect. */
export function restartAt({ prototype }: { prototype: unknown }, method: string, isDone = false): void {
  const object = prototype as Record<string, (...values: unknown[]) => unknown>;
  const original = object[method]!;
  vi.spyOn(object, method).mockImplementationOnce(async function (this: unknown, ...values: unknown[]) {
    const { ctx } = this as { ctx: DurableObjectState };
    if (isDone) {
      await original.apply(this, values);
      await ctx.storage.sync();
    }
    ctx.abort("restart");
    return new Promise(() => undefined);
  });
}

export const openStub = (taskId: string) => env.TASKS.get(toObjectId(env.TASKS, taskId)!);

/** The object crashes: stored data remains, memory and running calls are lost. */
export async function crash<T extends TaskObject | WalletObject | BatchObject>(stub: DurableObjectStub<T>): Promise<void> {
  await runInDurableObject(stub, (_, ctx) => ctx.abort("crash")).catch(() => undefined);
}

/** The id of the next task. */
export function nextTaskId(): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const namespace = bindings.namespace() as unknown as { newUniqueId: () => DurableObjectId };
  const original = namespace.newUniqueId;
  vi.spyOn(namespace, "newUniqueId").mockImplementationOnce(function (this: unknown) {
    const id = original.call(this);
    resolve(toTaskId(id));
    return id;
  });
  return promise;
}

/** From now on the Worker cannot reach the object, or the next one, however often it retries. */
export const loseTheObject = (stub?: DurableObjectStub<TaskObject>) =>
  failOnce(bindings.namespace(), "get", false, 3, (_, [id]) => stub === undefined || String(id) === String(stub.id));

/** Crashes a submission's object and the Worker that waits for it, and ends all spies. */
export async function crashBoth(taskId: string, answer: Promise<{ status: number }>): Promise<void> {
  const stub = openStub(taskId);
  loseTheObject(stub);
  await crash(stub);
  expect((await answer).status).toBe(500);
  vi.restoreAllMocks();
}

/** Everything that an object still stores: its tables and its alarm. */
export const openStorage = (stub: DurableObjectStub<TaskObject>) =>
  runInDurableObject(stub, async (_, ctx) => ({
    tables: ctx.storage.sql.exec("SELECT name FROM sqlite_master").toArray(),
    alarm: await ctx.storage.getAlarm(),
  }));

export const nothingStored = { tables: [], alarm: null };

/** Counts what Cloudflare bills, at the classes of the bindings: rows written in D1 and in every object, alarms, calls, messages, files, log lines. */

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { vi } from "vitest";
import { TaskObject } from "../../src/tasks/task-object.ts";
import { WalletObject } from "../../src/tasks/wallet-object.ts";
import type { Operations } from "../../scripts/support/operations.ts";
import { bindings, spyOn } from "./faults.ts";

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

const callsOf = (target: Methods, methods: string[]) => {
  const spies = methods.map((method) => spyOn(target, method).mockClear());
  return () => spies.reduce((sum, { mock }) => sum + mock.calls.length, 0);
};

/**
 * Counts from here on. A `put` or `delete` of a key and a `setAlarm` are a row each; `deleteAll` drops an object's database and is not billed
 * by rows. What a test itself calls at an object counts as a call of the gateway's: use the gateway.
 */
export async function startMeter(): Promise<() => Promise<Operations>> {
  const { storage, kv } = await storageClasses();
  const single = spyOn(bindings.statement(), "run").mockClear();
  const batches = spyOn(bindings.database(), "batch").mockClear();
  const first = spyOn(bindings.statement(), "first").mockClear();
  const records = callsOf(kv, ["put", "delete"]);
  const alarms = callsOf(storage, ["setAlarm"]);
  const stubs = [bindings.namespace()].map((namespace) => callsOf(namespace, ["get", "getByName"]));
  const woken = [TaskObject, WalletObject].map(({ prototype }) => vi.spyOn(prototype, "alarm").mockClear());
  const messages = callsOf(bindings.queue(), ["send"]);
  const classA = callsOf(bindings.bucket(), ["put", "list", "createMultipartUpload"]);
  const classB = callsOf(bindings.bucket(), ["get", "head"]);
  const lines = (["log", "error"] as const).map((method) => vi.spyOn(console, method).mockClear());
  return async () => {
    const results = [
      ...(await Promise.all(single.mock.results.map((result) => result.value as Promise<Written>))),
      ...(await Promise.all(batches.mock.results.map((result) => result.value as Promise<Written[]>))).flat(),
    ];
    const count = (spies: { mock: { calls: unknown[] } }[]) => spies.reduce((sum, { mock }) => sum + mock.calls.length, 0);
    return {
      d1Rows: results.reduce((sum, { meta }) => sum + meta.rows_written, 0),
      d1Calls: single.mock.calls.length + batches.mock.calls.length + first.mock.calls.length,
      objectRows: records(),
      alarmRows: alarms(),
      objectCalls: stubs.reduce((sum, calls) => sum + calls(), 0),
      alarms: count(woken),
      messages: messages(),
      classA: classA(),
      classB: classB(),
      logLines: count(lines),
    };
  };
}

/** Counts the operations that Cloudflare bills, at the classes of the bindings: rows written in D1 and in every object, alarms, calls, messages, files, log lines. */

import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, vi } from "vitest";
import { statusLogShare } from "../../src/config.ts";
import type { RequestPage } from "../../src/db/request-pages.ts";
import { TaskObject } from "../../src/tasks/object/task-object.ts";
import { WalletObject } from "../../src/wallet/object.ts";
import type { Operations } from "../../scripts/support/operations.ts";
import { bindings, nothingStored, spyOn, openStorage, openStub } from "./faults.ts";
import { type Account, call, chatsSettled, complete, readBalance, deliver, newAccount, submit, unique } from "./gateway.ts";

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
 * The share of such lines that production writes. Local gateways also log the steps of a task (`LOG`), with the calls of providers, and
 * each submission and status query (`LOG_STATUS_EVERY`).
 */
function loggedShare(line: string): number {
  if (/"unit":"(dispatch|poll|callback)"|"path":"POST \/callbacks\//.test(line)) return 0;
  const isSampled = /"path":"(POST \/v1\/(images|videos)\/generations|GET \/v1\/tasks\/[^"/]+)","status":200/.test(line);
  return isSampled ? 1 / statusLogShare({ ENVIRONMENT: "production" } as Env) : 1;
}

/**
 * Starts counting. A `put` or `delete` of a key and a `setAlarm` are a row each; `deleteAll` drops an object's database and is not billed
 * by rows. A call of an object is counted when a stub is created for it; the stubs of `live` are not.
 */
async function startMeter(): Promise<() => Promise<Operations>> {
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
    const logged = lines
      .flatMap(({ mock }) => mock.calls.map(([line]) => String(line)))
      .map((line) => ({ line, share: loggedShare(line) }));
    return {
      requests: logged.filter(({ line }) => line.includes('"unit":"request"')).length,
      d1Rows: results.reduce((sum, { meta }) => sum + meta.rows_written, 0),
      d1Calls: single.mock.calls.length + batches.mock.calls.length + first.mock.calls.length,
      objectRows: records(),
      alarmRows: alarms(),
      objectCalls: stubs() - ownStubs,
      alarms: count(woken),
      messages: messages(),
      classA: classA(),
      classB: classB(),
      logLines: logged.reduce((sum, { share }) => sum + share, 0),
      logBytes: logged.reduce((sum, { line, share }) => sum + share * new TextEncoder().encode(line).byteLength, 0),
    };
  };
}

const delivered = new WeakSet<object>();
/** Stubs that `live` made: nothing bills them. */
let ownStubs = 0;

/** Advances the time for tasks of an account: runs each alarm at its time and delivers each message when it was sent. Ends when no alarm is set before `until`. */
async function live(account: Account, ids: string[], until: number): Promise<void> {
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

/** Advances the time by as many days as a task is stored. */
async function liveDays(account: Account, ids: string[]): Promise<void> {
  const until = Date.now() + wholeLifeMs;
  await live(account, ids, until);
  vi.setSystemTime(until);
}

interface Course {
  /** Submits one task. It is not counted if it only makes the account busy or known. */
  begin: (account: Account, isCounted: boolean) => Promise<string>;
  /** Runs a task of another account, so that the tasks do not read or write typical durations: that happens once for many tasks. */
  warmUp: () => Promise<unknown>;
  /** External events, this many seconds after the first submission. */
  events?: { seconds: number; happens: (account: Account, ids: string[]) => Promise<void> }[];
  /** True if the account had as many tasks in the minute before. */
  isBusy?: boolean;
  /** True if the account has had a task before, of which nothing is left but the ledger. */
  isKnown?: boolean;
  /** The number of groups in which the tasks are submitted, one by default. */
  waves?: number;
}

/** Longer than a wallet waits for more ends before it writes them to D1, so that each wave is written alone. */
const waveSeconds = 6;
/** How long an isolate collects requests before it writes them (`src/api/request/log.ts`). */
const requestLogMs = 10_000;
/** Longer than a task is stored. */
const wholeLifeMs = 8 * 86_400_000;

/** Runs tasks of one account in parallel until nothing of them is stored; returns the operations of each. */
export async function measureTasks(count: number, { begin, warmUp, events = [], isBusy, isKnown, waves = 1 }: Course): Promise<Operations> {
  const account = await newAccount(10_000);
  const submitMany = (many: number, isCounted = false) => Promise.all(Array.from({ length: many }, () => begin(account, isCounted)));
  if (isBusy) await live(account, await submitMany(count), Date.now() + 50_000);
  if (isKnown) await liveDays(account, await submitMany(1));
  await warmUp();
  const finish = await startMeter();
  const started = Date.now();
  const ids: string[] = [];
  const liveUntil = async (seconds: number) => {
    const at = started + 1000 * seconds;
    await live(account, ids, at - 1);
    vi.setSystemTime(at);
  };
  for (let wave = 0; wave < waves; wave++) {
    await liveUntil(wave * waveSeconds);
    ids.push(...(await submitMany(Math.floor((count + wave) / waves), true)));
  }
  for (const { seconds, happens } of events) {
    await liveUntil(seconds);
    await happens(account, ids);
  }
  await live(account, ids, Date.now() + wholeLifeMs);
  const operations = share(await finish(), count);
  for (const id of ids) expect({ id, ...(await openStorage(openStub(id))) }).toEqual({ id, ...nothingStored });
  expect(await readBalance(account)).toMatchObject({ reserved: 0 });
  return operations;
}

/**
 * Switches the console's log of requests on for calls with `vars`. An isolate writes it ten seconds after the first request; here `write`
 * ends that wait, as often as it is called.
 */
export function keepRequestLog() {
  const waits: (() => void)[] = [];
  const written: Promise<void>[] = [];
  const original = globalThis.setTimeout;
  vi.spyOn(globalThis, "setTimeout").mockImplementation(((run: () => void, ms?: number, ...values: unknown[]) => {
    if (ms !== requestLogMs) return original(run, ms, ...(values as []));
    waits.push(run);
    return 0;
  }) as typeof setTimeout);
  const OPERATIONS = {
    logRequests: (batch: RequestPage[]) => {
      const writing = env.OPERATIONS!.logRequests(batch);
      written.push(writing);
      return writing;
    },
  } as unknown as NonNullable<Env["OPERATIONS"]>;
  const write = async () => {
    expect(waits).toHaveLength(1);
    waits.pop()!();
    await vi.waitFor(() => expect(written).toHaveLength(1));
    await written.pop();
  };
  return { vars: { REQUEST_LOG: "on", OPERATIONS } satisfies Partial<Env>, write };
}

interface ChatCourse {
  /** True if the account had as many chats half a minute before, so that its grant is large enough. */
  isBusy?: boolean;
  /** True with the console's log of requests. */
  logsRequests?: boolean;
}

/** Runs chats of one account in parallel until the wallet has written them to D1; returns the operations of each. An account that is not busy has had a chat before, on another day. */
export async function measureChats(count: number, { isBusy = false, logsRequests = false }: ChatCourse = {}): Promise<Operations> {
  const account = await newAccount(10_000);
  const wallet = env.WALLETS.getByName(account.id);
  const chats = (many: number, vars?: Partial<Env>) =>
    Promise.all(
      Array.from({ length: many }, async () => {
        const body = { model: "textA-1", messages: [{ role: "user", content: unique() }] };
        expect((await call("/v1/chat/completions", { key: account.key, body, ...(vars && { vars }) })).status).toBe(200);
      }),
    );
  await chats(isBusy ? count : 1);
  await chatsSettled(account, wallet);
  if (isBusy) await live(account, [], Date.now() + 30_000);
  else await liveDays(account, []);
  const log = logsRequests ? keepRequestLog() : undefined;
  const finish = await startMeter();
  await chats(count, log?.vars);
  await chatsSettled(account, wallet);
  await log?.write();
  await live(account, [], Date.now() + wholeLifeMs);
  return share(await finish(), count);
}

/** A task of this kind, on the configured routes. */
export const submitting = (path: string, body: () => object) => ({
  begin: (account: Account) => submit(account, path, body()),
  warmUp: async () => complete(await newAccount(), path, body()),
});

/** The operations per task, in hundredths. */
const share = (operations: Operations, count: number) =>
  Object.fromEntries(
    Object.entries(operations).map(([name, value]) => [name, Math.round((100 * value) / count) / 100]),
  ) as unknown as Operations;

/** The gateway like callers and the operator use it, and functions that advance time and deliver messages and alarms. */

import { createMessageBatch, createExecutionContext, getQueueResult, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { beforeEach, expect, vi } from "vitest";
import { toObjectId } from "../../src/base/ids.ts";
import type { Task } from "../../src/tasks/record.ts";
import worker from "../../src/worker.ts";
import { conform } from "./conform.ts";
import { toEnv, type Vars } from "./models.ts";
import type { Script } from "./script.ts";

const origin = "https://gateway.example";

export interface Answer {
  status: number;
  headers: Headers;
  // oxlint-disable-next-line typescript/no-explicit-any -- bodies are looked at field by field
  body: any;
}

export interface Account {
  id: string;
  key: string;
  keyId: string;
}

interface Call {
  key?: string;
  method?: string;
  body?: unknown;
  headers?: Record<string, string>;
  /** Variables that differ from the test environment's. */
  vars?: Vars;
}

/** Sends a request to the gateway; a JSON answer is parsed and checked against its schema. */
export async function call(path: string, { key, method, body, headers, vars }: Call = {}): Promise<Answer> {
  const request = new Request(path.startsWith("http") ? path : origin + path, {
    method: method ?? (body === undefined ? "GET" : "POST"),
    headers: {
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === "string" || body instanceof ArrayBuffer ? body : JSON.stringify(body) }),
  });
  const response = vars ? await worker.fetch(request, toEnv(vars), createExecutionContext()) : await exports.default.fetch(request);
  const type = response.headers.get("content-type") ?? "";
  const isText = /^(?:application\/jsonl?(?:;|$)|text\/)/.test(type);
  const text = isText ? await response.text() : undefined;
  conform(request.method, request.url, { status: response.status, headers: response.headers, body: text });
  const isJson = /^application\/json(?:;|$)/.test(type);
  return {
    status: response.status,
    headers: response.headers,
    body: isJson ? (text ? JSON.parse(text) : undefined) : isText ? new TextEncoder().encode(text).buffer : await response.arrayBuffer(),
  };
}

export const asAdmin = (path: string, options: Call = {}) => call(`/admin${path}`, { key: "test-admin", ...options });

let accounts = 0;

/** A new account with one key. Quotas in balance units; null is unlimited. */
export async function newAccount(quota: number | null = 100, keyQuota: number | null = null): Promise<Account> {
  const account = await asAdmin("/accounts", { body: { email: `caller-${++accounts}-${crypto.randomUUID()}@example.com`, quota } });
  expect(account.status).toBe(201);
  const key = await asAdmin(`/accounts/${account.body.id}/keys`, { body: { name: "test", quota: keyQuota } });
  expect(key.status).toBe(201);
  return { id: account.body.id, key: key.body.key, keyId: key.body.id };
}

/** Stops the time an hour ahead of the real one, so that no real alarm runs in between. */
export function holdTime(): void {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 3_600_000 });
}

/** Pauses of up to two seconds last a twentieth in this file: tests of requests that look again each second would spend their time in them. Limits of calls, which have a signal, stay. */
export function shortenPauses(): void {
  const wait = scheduler.wait.bind(scheduler);
  beforeEach(
    () => void vi.spyOn(scheduler, "wait").mockImplementation((ms, options) => wait(options || ms > 2_000 ? ms : ms / 20, options)),
  );
}

const advance = (seconds: number) => vi.setSystemTime(Date.now() + seconds * 1000);

const openObject = (taskId: string) => env.TASKS.get(toObjectId(env.TASKS, taskId)!);

/** Delivers the task's message, with further fields, to the consumer; "retry" if the consumer requests redelivery. */
export async function deliver(
  taskId: string,
  queue = "gateway-dispatch",
  vars: Partial<Env> = {},
  fields: object = {},
): Promise<"ack" | "retry"> {
  const body = { ...fields, taskId };
  const batch = createMessageBatch(queue, [{ id: crypto.randomUUID(), timestamp: new Date(), attempts: 1, body }]);
  const ctx = createExecutionContext();
  await worker.queue(batch, { ...env, ...vars }, ctx);
  const result = await getQueueResult(batch, ctx);
  return result.retryMessages.length > 0 ? "retry" : "ack";
}

/** Runs the alarm of the task's object if one is set. */
export const alarm = (taskId: string) => runDurableObjectAlarm(openObject(taskId));

/** Moves the time to the object's alarm, or by the seconds, and runs the alarm. */
export async function pass(taskId: string, seconds: number): Promise<void> {
  advance(seconds);
  await alarm(taskId);
}

/** Moves the time to the next poll of the task's operation, and polls. */
export async function passToPoll(taskId: string): Promise<void> {
  const task = await runInDurableObject(openObject(taskId), (_, ctx) => ctx.storage.kv.get<Task>("task")!);
  expect(task.step.do).toBe("poll");
  // A poll without an outcome only moves the alarm.
  await pass(taskId, ((await alarmAt(taskId))! - Date.now()) / 1000);
}

/** When the alarm of the task's object is due. */
export const alarmAt = (taskId: string) => runInDurableObject(openObject(taskId), (_, ctx) => ctx.storage.getAlarm());

/** Runs the alarm of the account's wallet if one is set, which writes ended entries to D1. */
export const wakeWallet = ({ id }: Account) => runDurableObjectAlarm(env.WALLETS.getByName(id));

export async function submit(account: Account, path: string, body: object, headers: Record<string, string> = {}): Promise<string> {
  const answer = await call(path, { key: account.key, body, headers });
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body.id as string;
}

/** Asks to cancel a task. */
export const cancel = (account: Account, id: string) => call(`/v1/tasks/${id}/cancel`, { key: account.key, method: "POST" });

/** Runs queue and alarms until the task is final, at most for this many rounds. */
export async function finish(account: Account, taskId: string, rounds = 12): Promise<Answer> {
  for (let round = 0; round < rounds; round++) {
    await deliver(taskId);
    const status = await call(`/v1/tasks/${taskId}`, { key: account.key });
    if (status.body.data === undefined || ["completed", "failed"].includes(status.body.data.status)) return status;
    await pass(taskId, Math.max(2, ((await alarmAt(taskId)) ?? 0) / 1000 - Date.now() / 1000));
  }
  return call(`/v1/tasks/${taskId}`, { key: account.key });
}

/** Submits, and runs queue and alarms; returns the id of the completed task. */
export async function complete(account: Account, path: string, body: object): Promise<string> {
  const id = await submit(account, path, body);
  expect((await finish(account, id)).body.data.status).toBe("completed");
  return id;
}

export const script = (steps: Script) => env.SANDBOX!.fetch("http://sandbox/__script", { method: "POST", body: JSON.stringify(steps) });

/** A new account's task for an image, or of the body. Its upstream follows the steps. */
export async function newTask(
  steps: Omit<Script, "match"> = {},
  body: { model: string; n?: number } = { model: "imgA-4" },
): Promise<{ account: Account; prompt: string; id: string }> {
  const account = await newAccount();
  const prompt = unique();
  await script({ match: prompt, ...steps });
  const path = body.model.startsWith("vid") ? "/v1/videos/generations" : "/v1/images/generations";
  return { account, prompt, id: await submit(account, path, { ...body, prompt }) };
}

export async function upstreamCalls(match: string): Promise<string[]> {
  const response = await env.SANDBOX!.fetch(`http://sandbox/__calls?match=${encodeURIComponent(match)}`);
  return (await response.json<{ call: string }[]>()).map(({ call: name }) => name);
}

export interface Balance {
  quota: number | null;
  reserved: number;
  used: number;
  remaining: number | null;
}

/** The account's balance in the admin API; also checks that it agrees with the ledger. */
export async function readBalance(account: Account): Promise<Balance> {
  const audit = await asAdmin(`/audit?account=${account.id}`);
  expect(audit.body).toMatchObject({ accounts: 1, drift: [] });
  const { quota, reserved, used, remaining } = (await asAdmin(`/accounts/${account.id}`)).body as Balance;
  if (quota !== null) expect(Math.round(quota * 1e6)).toBe(Math.round((remaining! + used + reserved) * 1e6));
  return { quota, reserved, used, remaining };
}

/** Waits until the wallet has settled the account's chats: settlements gather for a moment after the answers. */
export async function chatsSettled({ id }: Account, wallet = env.WALLETS.getByName(id)): Promise<void> {
  for (let turn = 0; turn < 1_000; turn++) {
    const unwritten = await wallet.unwritten();
    if (unwritten.every(({ kind, end }) => kind !== "chat" || end)) return;
    await scheduler.wait(5);
  }
  throw new Error("a chat is not settled");
}

/** The balance once the account's chats are settled. */
export async function settledBalance(account: Account): Promise<Balance> {
  await chatsSettled(account);
  return readBalance(account);
}

/** A word that no other test uses, to select prompts in the upstream's script. */
export const unique = () => `word-${crypto.randomUUID().slice(0, 8)}`;

/** The body of a task for an image, which costs 0.03. */
export const image = (more: object = {}) => ({ model: "imgA-4", prompt: unique(), ...more });

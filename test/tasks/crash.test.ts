/** After a crash between any two steps the task still ends correctly: nothing lost, nothing charged twice, nothing reserved forever. */

import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import type { Task } from "../../src/tasks/record.ts";
import { perform } from "../../src/tasks/consumer/perform.ts";
import { RecordStore } from "../../src/tasks/object/record-store.ts";
import { TaskObject } from "../../src/tasks/object/task-object.ts";
import { WalletObject } from "../../src/wallet/object.ts";
import type { StepOutcome } from "../../src/tasks/work.ts";
import {
  bindings,
  crash,
  crashBoth,
  failOnce,
  failWalletOnce,
  loseTheObject,
  nextTaskId,
  nothingStored,
  openStorage,
  openStub,
  spyOn,
  stopAt,
  stopWalletAt,
} from "../support/faults.ts";
import {
  type Account,
  alarm,
  type Answer,
  readBalance,
  call,
  deliver,
  finish,
  holdTime,
  newAccount,
  pass,
  script,
  submit,
  unique,
  upstreamCalls,
  wakeWallet,
  newTask,
} from "../support/gateway.ts";
import { png } from "../media/images.ts";
import { toUri } from "../media/json-bodies.ts";
import { buckets, origin, setDestination } from "../support/bucket.ts";
import { callBack, findCallback, ok, receivers } from "../support/receiver.ts";

holdTime();

const price = 0.03;
const image = (prompt: string) => ({ model: "imgA-4", prompt });
const path = "/v1/images/generations";
const hook = "https://hooks.example.com/done";

/** Late or repeated messages and alarms change nothing more. */
async function repeatEverything(taskId: string): Promise<void> {
  for (let time = 0; time < 2; time++) {
    await deliver(taskId);
    await deliver(taskId, "gateway-dead");
    await alarm(taskId);
  }
}

async function expectCompletedOnce(account: Account, taskId: string, status: Answer): Promise<void> {
  expect(status.body.data.status).toBe("completed");
  expect(status.body.data.result.images).toHaveLength(1);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: price });
  await repeatEverything(taskId);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: price });
}

async function expectNothingLeft(account: Account, taskId: string): Promise<void> {
  await repeatEverything(taskId);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
  expect((await call(`/v1/tasks/${taskId}`, { key: account.key })).status).toBe(404);
  expect((await call("/v1/tasks", { key: account.key })).body.data).toEqual([]);
  expect(await openStorage(openStub(taskId))).toEqual(nothingStored);
}

/** A quarter of an hour later, when the wallet object asks the tasks of its old holds. */
async function passOldHold(account: Account): Promise<void> {
  vi.setSystemTime(Date.now() + 901_000);
  await wakeWallet(account);
}

/** True for the D1 statement that writes a reference. */
const isReferenceWrite = (statement: unknown) => (statement as { statement: string }).statement.startsWith("INSERT INTO task_reference");

/** The class of objects' keys and values. */
const openKv = (id: string) => runInDurableObject(openStub(id), (_, { storage }) => Object.getPrototypeOf(storage.kv) as never);

test("before the record: no task, nothing reserved", async () => {
  const account = await newAccount();
  const id = nextTaskId();
  loseTheObject();
  expect((await call(path, { key: account.key, body: image(unique()) })).status).toBe(500);
  await expectNothingLeft(account, await id);
});

test.each([
  ["after the record", false],
  ["after the reservation", true],
])("%s: the object crashes, the Worker retries, and the task exists once", async (_, isDone) => {
  const account = await newAccount();
  const id = nextTaskId();
  const stopped = stopWalletAt(account, "reserve", isDone);
  const answer = call(path, { key: account.key, body: image(unique()) });
  await stopped();
  await crash(openStub(await id));
  expect(await answer).toMatchObject({ status: 200, body: { id: await id } });
  expect(await readBalance(account)).toMatchObject({ reserved: price });
  await expectCompletedOnce(account, await id, await finish(account, await id));
});

test.each([
  ["before its reference is written", false],
  ["after its reference was written", true],
])("%s: everything crashes, and no list shows the task that was given up", async (_, isDone) => {
  const account = await newAccount();
  const id = nextTaskId();
  const stopped = stopAt(bindings.statement(), "run", isDone, isReferenceWrite);
  const answer = call(path, { key: account.key, body: { ...image(unique()), reference: "order 7" } });
  await stopped();
  expect(await readBalance(account)).toMatchObject({ reserved: price });
  await crashBoth(await id, answer);
  await passOldHold(account);
  await expectNothingLeft(account, await id);
  expect((await call("/v1/tasks?reference=order%207", { key: account.key })).body.data).toEqual([]);
});

test.each([
  ["after the record", false],
  ["after the reservation", true],
])("%s: everything crashes, and a task that was never answered is given up and its reservation returned", async (_, isDone) => {
  const account = await newAccount();
  const id = nextTaskId();
  const stopped = stopWalletAt(account, "reserve", isDone);
  const answer = call(path, { key: account.key, body: image(unique()) });
  await stopped();
  expect(await readBalance(account)).toMatchObject({ reserved: isDone ? price : 0 });
  await crashBoth(await id, answer);
  await passOldHold(account);
  await expectNothingLeft(account, await id);
});

/** A submission whose price is held, and whose object and Worker have crashed. */
async function crashAfterHold(account: Account): Promise<string> {
  const id = nextTaskId();
  const stopped = stopWalletAt(account, "reserve", true);
  const answer = call(path, { key: account.key, body: image(unique()) });
  await stopped();
  await crashBoth(await id, answer);
  return id;
}

test("after the reservation: if the wallet crashes too, as when all of a machine does, it asks the task ten seconds after its start", async () => {
  const account = await newAccount();
  const id = await crashAfterHold(account);
  await crash(env.WALLETS.getByName(account.id));
  expect(await readBalance(account)).toMatchObject({ reserved: price });
  vi.setSystemTime(Date.now() + 9_000);
  await wakeWallet(account);
  expect(await readBalance(account)).toMatchObject({ reserved: price });
  vi.setSystemTime(Date.now() + 2_000);
  await wakeWallet(account);
  await expectNothingLeft(account, id);
});

test("a wallet that starts again later than ten seconds after a hold was evicted, and asks no task", async () => {
  const { account, id } = await newTask();
  vi.setSystemTime(Date.now() + 10_000);
  await evictDurableObject(env.WALLETS.getByName(account.id));
  const asked = vi.spyOn(TaskObject.prototype, "tellWallet");
  expect(await readBalance(account)).toMatchObject({ reserved: price });
  vi.setSystemTime(Date.now() + 60_000);
  await wakeWallet(account);
  expect(asked).not.toHaveBeenCalled();
  expect((await finish(account, id)).body.data.status).toBe("completed");
});

test("a hold that its repeated submission uses while the wallet asks for its task is not released", async () => {
  const account = await newAccount();
  const id = await crashAfterHold(account);
  const charge = { v: 1, taskId: id, accountId: account.id, keyId: account.keyId, kind: "image" as const, model: "imgA-4" };
  const used: object[] = [];
  vi.spyOn(TaskObject.prototype, "tellWallet").mockImplementationOnce(async () => {
    used.push(await env.WALLETS.getByName(account.id).reserve(charge, price * 1e6, {}));
    return "gone";
  });
  await passOldHold(account);
  expect(used).toEqual([{ answer: "reserved" }]);
  expect(await readBalance(account)).toMatchObject({ reserved: price });
});

test("after the reservation of a task with an inline image: everything crashes, and half a minute later nothing of it is left", async () => {
  const account = await newAccount();
  const id = nextTaskId();
  const stopped = stopWalletAt(account, "reserve", true);
  const answer = call(path, { key: account.key, body: { ...image(unique()), images: [toUri(png)] } });
  await stopped();
  expect((await env.ASSETS.list({ prefix: `inputs/${await id}/` })).objects).toHaveLength(1);
  await crashBoth(await id, answer);
  await pass(await id, 31);
  await expectNothingLeft(account, await id);
  expect((await env.ASSETS.list({ prefix: `inputs/${await id}/` })).objects).toEqual([]);
});

test("a submission that its alarm gives up while its price is being held is refused, and nothing is held or made", async () => {
  const account = await newAccount();
  const prompt = unique();
  const id = nextTaskId();
  // oxlint-disable-next-line typescript/unbound-method -- called with its object
  const { reserve } = WalletObject.prototype;
  vi.spyOn(WalletObject.prototype, "reserve").mockImplementationOnce(async function (this: WalletObject, charge, ...values) {
    const held = await reserve.call(this, charge, ...values);
    await pass(charge.taskId, 11);
    return held;
  });
  expect((await call(path, { key: account.key, body: { ...image(prompt), images: [toUri(png)] } })).status).toBe(503);
  await expectNothingLeft(account, await id);
  expect(await upstreamCalls(prompt)).toEqual([]);
});

test("a settlement that the wallet object acknowledged and lost is repeated when the hold is old", async () => {
  const { account, id } = await newTask();
  vi.spyOn(WalletObject.prototype, "settle").mockResolvedValueOnce(undefined);
  expect((await finish(account, id)).body.data.status).toBe("completed");
  expect(await readBalance(account)).toMatchObject({ reserved: price, used: 0 });
  await passOldHold(account);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: price });
});

test("a reservation that arrives after its task was given up reserves nothing", async () => {
  const account = await newAccount();
  const id = nextTaskId();
  failWalletOnce(account, "reserve");
  expect((await call(path, { key: account.key, body: image(unique()) })).status).toBe(503);
  const charge = { taskId: await id, accountId: account.id, keyId: account.keyId, kind: "image", model: "imgA-4" };
  expect(await env.WALLETS.getByName(account.id).reserve(charge, 30_000, {})).toEqual({ answer: "closed" });
  await expectNothingLeft(account, await id);
});

test("the ledger commits but its answer is lost: the caller gets 503 and nothing is reserved", async () => {
  const account = await newAccount();
  const id = nextTaskId();
  failWalletOnce(account, "reserve", true);
  const answer = await call(path, { key: account.key, body: image(unique()) });
  expect(answer.status).toBe(503);
  expect(answer.headers.get("retry-after")).toMatch(/^\d+$/);
  await expectNothingLeft(account, await id);
});

test("a repeat of a submission that is being given up does not create its task, and reserves nothing", async () => {
  const account = await newAccount();
  const id = nextTaskId();
  failWalletOnce(account, "reserve");
  failWalletOnce(account, "settle");
  expect((await call(path, { key: account.key, body: image(unique()) })).status).toBe(503);
  const taskId = await id;
  const { submission } = await runInDurableObject(openStub(taskId), (_, ctx) => ctx.storage.kv.get<Task>("task")!);
  for (let time = 0; time < 2; time++) {
    expect(await openStub(taskId).create(submission)).toEqual({ refused: "unavailable" });
    expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
    await crash(openStub(taskId));
  }
  await pass(taskId, 61);
  await expectNothingLeft(account, taskId);
});

test("after the message was sent: the object crashes, and the message still reaches it", async () => {
  const { account, id } = await newTask();
  await crash(openStub(id));
  await expectCompletedOnce(account, id, await finish(account, id));
});

test("a start whose message the queue refused is run by the object itself", async () => {
  const account = await newAccount();
  const prompt = unique();
  failOnce(bindings.queue(), "send");
  const id = await submit(account, path, image(prompt));
  await crash(openStub(id));
  await pass(id, 3);
  expect(await upstreamCalls(prompt)).toEqual(["start"]);
  await expectCompletedOnce(account, id, await finish(account, id));
});

test("a collection's lost message is sent again by the alarm", async () => {
  const { account, id } = await newTask();
  await deliver(id);
  failOnce(bindings.queue(), "send");
  await pass(id, 2);
  const send = spyOn(bindings.queue(), "send").mockClear();
  await crash(openStub(id));
  await pass(id, 3);
  expect(send).toHaveBeenCalledTimes(1);
  await expectCompletedOnce(account, id, await finish(account, id));
});

test("a start that waited ten seconds for a consumer is run by the object, and its late message finds no waiting work", async () => {
  const { account, prompt, id } = await newTask();
  await pass(id, 9);
  expect(await upstreamCalls(prompt)).toEqual([]);
  await pass(id, 1);
  expect(await upstreamCalls(prompt)).toEqual(["start"]);
  expect(await deliver(id)).toBe("ack");
  await expectCompletedOnce(account, id, await finish(account, id));
  expect((await upstreamCalls(prompt)).filter((name) => name === "start")).toHaveLength(1);
});

test("a start that a consumer has claimed is not run by the object too", async () => {
  const { prompt, id } = await newTask();
  expect(await openStub(id).claim()).toMatchObject({ step: "start" });
  await pass(id, 10);
  expect(await upstreamCalls(prompt)).toEqual([]);
  expect(await openStub(id).claim()).toBeNull();
});

/** The next start at the upstream never answers; the function waits until it was called. */
function holdUpstream(): () => Promise<void> {
  const prototype = Object.getPrototypeOf(env.SANDBOX) as { fetch: (input: string, init?: RequestInit) => Promise<Response> };
  const original = prototype.fetch;
  const seen = { isReached: false };
  vi.spyOn(prototype, "fetch").mockImplementation(function (this: unknown, input, init) {
    if (seen.isReached || !input.startsWith("http://sandbox/") || init?.method !== "POST") return original.call(this, input, init);
    seen.isReached = true;
    return new Promise(() => undefined);
  });
  return () => vi.waitFor(() => expect(seen.isReached).toBe(true), { timeout: 10_000, interval: 1 });
}

test("the object crashes while it runs a start itself: its lease expires, and the start is repeated", async () => {
  const { account, prompt, id } = await newTask();
  const reached = holdUpstream();
  const dying = pass(id, 10).catch(() => undefined);
  await reached();
  expect(await deliver(id)).toBe("ack");
  await crash(openStub(id));
  await dying;
  await pass(id, 71);
  await expectCompletedOnce(account, id, await finish(account, id));
  expect((await upstreamCalls(prompt)).filter((name) => name === "start")).toHaveLength(1);
});

test("a task cancelled while its object runs the start does not block its alarm", async () => {
  const { account, id } = await newTask();
  const reached = holdUpstream();
  const starting = pass(id, 10);
  await reached();
  expect((await call(`/v1/tasks/${id}/cancel`, { key: account.key, method: "POST" })).status).toBe(200);
  await starting;
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("after the claim: the consumer crashes, its lease expires, another one starts", async () => {
  const { account, id } = await newTask();
  expect(await openStub(id).claim()).toMatchObject({ step: "start" });
  expect(await openStub(id).claim()).toBeNull();
  await crash(openStub(id));
  await pass(id, 71);
  await expectCompletedOnce(account, id, await finish(account, id));
});

test("after the provider accepted: the start is repeated with the same key and nothing is generated twice", async () => {
  const { account, prompt, id } = await newTask({ starts: ["hang up"] });
  await expectCompletedOnce(account, id, await finish(account, id));
  expect((await upstreamCalls(prompt)).filter((name) => name === "download")).toHaveLength(1);
});

/** The next consumer that reports crashes: no report under its lease arrives. */
function stopReports(): () => Promise<void> {
  // oxlint-disable-next-line typescript/unbound-method -- called with its object below
  const original = TaskObject.prototype.report;
  let dead: string | undefined;
  vi.spyOn(TaskObject.prototype, "report").mockImplementation(function (this: TaskObject, lease, step) {
    dead ??= lease;
    return lease === dead ? new Promise(() => undefined) : original.call(this, lease, step);
  });
  return () => vi.waitFor(() => expect(dead).toBeDefined(), { timeout: 10_000, interval: 1 });
}

test.each([
  ["the consumer crashes: they are collected again under other names, and deleted with the others", false, 2],
  ["consumer and object crash: they are collected again under other names, and deleted with the others", true, 2],
])("after the assets were stored %s", async (_, isObjectToo, files) => {
  const { account, id } = await newTask();
  await deliver(id);
  await pass(id, 2);
  const stopped = stopReports();
  void deliver(id);
  await stopped();
  // The dead consumer stays so: it would repeat its report a moment after the object's crash.
  if (isObjectToo) await crash(openStub(id));
  expect(await deliver(id)).toBe("ack");
  await pass(id, 51);
  await expectCompletedOnce(account, id, await finish(account, id));
  expect((await env.ASSETS.list({ prefix: `assets/${id}/` })).objects).toHaveLength(files);
  await pass(id, 86_401);
  expect((await env.ASSETS.list({ prefix: `assets/${id}/` })).objects).toEqual([]);
});

test("a consumer that stores while its object is evicted from memory does not have to store again", async () => {
  const { account, id } = await newTask();
  await deliver(id);
  await pass(id, 2);
  const work = await openStub(id).claim();
  await crash(openStub(id));
  expect(await openStub(id).holdsLease(work!.lease)).toBe(true);
  const result = { kind: "images" as const, images: [{ key: `assets/${id}/x-0.png`, type: "image/png", bytes: 1, digest: "d" }] };
  expect(await openStub(id).report(work!.lease, { outcome: "completed", result })).toBe(true);
  expect(await openStub(id).report(work!.lease, { outcome: "completed", result })).toBe(true);
  expect(await openStub(id).report("c0", { outcome: "completed", result })).toBe(false);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: price });
});

/** Submits, and crashes the object between its final state and its settlement, and on request the consumer too. */
async function crashBeforeSettlement(account: Account, isConsumerToo: boolean, body: object = {}): Promise<string> {
  const id = await submit(account, path, { ...image(unique()), ...body });
  await deliver(id);
  await pass(id, 2);
  const stopped = stopWalletAt(account, "settle", false);
  const delivery = deliver(id);
  await stopped();
  const stub = openStub(id);
  if (isConsumerToo) loseTheObject(stub);
  await crash(stub);
  await delivery;
  vi.restoreAllMocks();
  return id;
}

test("an unfinished settlement whose alarm is a day late is done when the wallet asks for its hold, a finished one is not repeated", async () => {
  const account = await newAccount();
  const id = await crashBeforeSettlement(account, true);
  vi.setSystemTime(Date.now() + 86_401_000);
  await crash(openStub(id));
  const settles = vi.spyOn(WalletObject.prototype, "settle");
  // The task deletes its files: it cannot see that it is not settled, and does not ask the wallet each time.
  await alarm(id);
  expect((await env.ASSETS.list({ prefix: `assets/${id}/` })).objects).toEqual([]);
  expect(await readBalance(account)).toMatchObject({ reserved: price, used: 0 });
  await crash(openStub(id));
  await passOldHold(account);
  const own = () => settles.mock.calls.filter(([{ accountId }]) => accountId === account.id);
  expect(own()).toHaveLength(1);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: price });
  const other = await submit(account, path, image(unique()));
  await finish(account, other);
  vi.setSystemTime(Date.now() + 86_401_000);
  await crash(openStub(other));
  const wallets = spyOn(bindings.namespace(), "getByName").mockClear();
  await alarm(other);
  expect(wallets).not.toHaveBeenCalled();
  expect(own()).toHaveLength(2);
  // The deletion of the files is not written either.
  for (const task of [id, other]) {
    await crash(openStub(task));
    await pass(task, 7 * 86_400);
    await alarm(task);
    expect(await openStorage(openStub(task))).toEqual(nothingStored);
  }
});

test("a task whose consumer may have left files is continued: its collection is leased, its files are deleted by prefix", async () => {
  const { account, id } = await newTask();
  await deliver(id);
  await runInDurableObject(openStub(id), (_, { storage }) => {
    storage.kv.put("task", { ...storage.kv.get<Task>("task")!, isTidy: false });
  });
  await crash(openStub(id));
  await pass(id, 2);
  const work = await openStub(id).claim();
  await crash(openStub(id));
  expect(await openStub(id).holdsLease(work!.lease)).toBe(true);
  await expectCompletedOnce(account, id, await finish(account, id));
  await env.ASSETS.put(`assets/${id}/left-by-a-consumer`, "left");
  await pass(id, 86_401);
  expect((await env.ASSETS.list({ prefix: `assets/${id}/` })).objects).toEqual([]);
});

test("displayed progress does not fall after a crash of the object, and is then the provider's again", async () => {
  const { account, id } = await newTask({
    polls: [{ progress: 10 }, { progress: 24 }, { progress: 26 }, { progress: 40 }, { progress: 55 }],
  });
  const progress = async () => (await call(`/v1/tasks/${id}`, { key: account.key })).body.data.progress as number;
  await deliver(id);
  const writes = spyOn(await openKv(id), "put").mockClear();
  const seen: number[][] = [];
  for (let poll = 0; poll < 5; poll++) {
    await pass(id, 2);
    const before = await progress();
    await crash(openStub(id));
    vi.setSystemTime(Date.now() + 1_500);
    seen.push([before, await progress()]);
  }
  expect(seen).toEqual([
    [10, 24],
    [24, 24],
    [26, 26],
    [40, 50],
    [55, 55],
  ]);
  expect(writes).toHaveBeenCalledTimes(2);
});

test("the object is reset while the consumer stores: the report is repeated and nothing is generated again", async () => {
  const { account, prompt, id } = await newTask();
  await deliver(id);
  await pass(id, 2);
  failOnce(TaskObject.prototype as never, "report");
  expect(await deliver(id)).toBe("ack");
  await expectCompletedOnce(account, id, await finish(account, id));
  expect((await upstreamCalls(prompt)).filter((name) => name === "download")).toHaveLength(1);
});

test("after the task is final and before it is settled: the consumer reports again, and it is settled at once", async () => {
  const account = await newAccount();
  const id = await crashBeforeSettlement(account, false);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: price });
  await expectCompletedOnce(account, id, await finish(account, id));
});

test("after the task is final and before it is settled: consumer and object crash, and the alarm settles it", async () => {
  const account = await newAccount();
  const id = await crashBeforeSettlement(account, true);
  expect(await readBalance(account)).toMatchObject({ reserved: price, used: 0 });
  await pass(id, 51);
  await expectCompletedOnce(account, id, await finish(account, id));
});

test("before the settlement everything crashes and the alarm is lost: a query an hour later sets it again, and the callback follows", async () => {
  const account = await newAccount();
  const id = await crashBeforeSettlement(account, true, { callback_url: hook });
  const received = receivers({ [hook]: ok });
  await runInDurableObject(openStub(id), (_, { storage }) => storage.deleteAlarm());
  vi.setSystemTime(Date.now() + 3_600_000);
  await crash(openStub(id));
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).body.data.status).toBe("completed");
  expect(await readBalance(account)).toMatchObject({ reserved: price, used: 0 });
  await pass(id, 1);
  await callBack(id);
  expect(received).toHaveLength(1);
  await expectCompletedOnce(account, id, await finish(account, id));
});

test("a settled task that is read from storage is not settled again, and its alarm is read once", async () => {
  const { account, id } = await newTask();
  await finish(account, id);
  vi.setSystemTime(Date.now() + 3_600_000);
  await crash(openStub(id));
  const settles = vi.spyOn(WalletObject.prototype, "settle");
  const asked = spyOn(
    await runInDurableObject(openStub(id), (_, { storage }) => Object.getPrototypeOf(storage) as never),
    "getAlarm",
  ).mockClear();
  for (let time = 0; time < 3; time++) expect((await openStub(id).read(account.id))?.step.do).toBe("erase");
  expect(asked).toHaveBeenCalledTimes(1);
  expect(await openStub(id).remove(account.id)).toBe("removed");
  expect(settles).not.toHaveBeenCalled();
});

test("finished work whose object crashed before its message arrived is collected by that message", async () => {
  const { account, prompt, id } = await newTask();
  await deliver(id);
  await pass(id, 2);
  await crash(openStub(id));
  expect(await deliver(id)).toBe("ack");
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).body.data.status).toBe("completed");
  expect((await upstreamCalls(prompt)).filter((name) => name === "download")).toHaveLength(1);
  await expectCompletedOnce(account, id, await finish(account, id));
});

test("files of a consumer that crashed with its object are deleted too if the work is polled with a fault after that", async () => {
  const { account, prompt, id } = await newTask();
  await deliver(id);
  await pass(id, 2);
  const work = await openStub(id).claim();
  await env.ASSETS.put(`assets/${id}/${work!.lease}-0.png`, "left");
  await crash(openStub(id));
  await script({ match: prompt, polls: [503] });
  await expectCompletedOnce(account, id, await finish(account, id));
  await pass(id, 86_401);
  expect((await env.ASSETS.list({ prefix: `assets/${id}/` })).objects).toEqual([]);
});

test("after a crash two consumers collect: files that the second stores after the task was deleted are deleted too", async () => {
  const account = await newAccount();
  const prompt = unique();
  await script({ match: prompt, cancels: [503] }); // its outputs can still be fetched
  const id = await submit(account, path, image(prompt));
  await deliver(id);
  await pass(id, 2);
  const work = await openStub(id).claim();
  await crash(openStub(id));
  await expectCompletedOnce(account, id, await finish(account, id));
  expect(await openStub(id).remove(account.id)).toBe("removed");
  const key = `assets/${id}/${work!.lease}-0.png`;
  await env.ASSETS.put(key, "late");
  const object = { holdsLease: async () => true, report: async (lease: string, step: StepOutcome) => openStub(id).report(lease, step) };
  await perform(work!, env, object);
  expect((await env.ASSETS.list({ prefix: `assets/${id}/` })).objects).toEqual([]);
});

test.each(["before", "after"])(
  "after a crash two consumers collect, and one stores %s the other: the files are those of the result",
  async (when) => {
    const account = await newAccount();
    const vars = { MARKS: "sign" }; // no two signatures are the same
    const prompt = unique();
    await script({ match: prompt, cancels: [503] }); // its outputs can still be fetched
    const id = await submit(account, path, image(prompt));
    await deliver(id);
    await pass(id, 2);
    const work = await openStub(id).claim();
    const object = { holdsLease: async () => true, report: async (lease: string, step: StepOutcome) => openStub(id).report(lease, step) };
    const collect = () => perform(work!, { ...(env as Env), ...vars }, object);
    await crash(openStub(id));
    const other = (await openStub(id).claim())!;
    expect(other.step).toBe("collect");
    if (when === "before") await collect();
    await perform(other, { ...(env as Env), ...vars }, object);
    if (when === "after") await collect();
    const { result } = await runInDurableObject(openStub(id), (_, ctx) => ctx.storage.kv.get<Task>("task")!);
    const [asset] = result?.kind === "images" ? result.images : [];
    const bytes = await (await env.ASSETS.get(asset!.key))!.arrayBuffer();
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toBase64({ alphabet: "base64url", omitPadding: true });
    expect(asset!.credentials).toBe("gateway");
    expect(digest).toBe(asset!.digest);
    expect(await readBalance(account)).toMatchObject({ reserved: 0, used: price });
    expect((await env.ASSETS.list({ prefix: `assets/${id}/` })).objects).toHaveLength(1);
  },
);

test("after the settlement and before its answer: settling again charges nothing", async () => {
  const { account, id } = await newTask();
  await deliver(id);
  await pass(id, 2);
  const stopped = stopWalletAt(account, "settle", true);
  const delivery = deliver(id);
  await stopped();
  await crash(openStub(id));
  await delivery;
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: price });
  await pass(id, 51);
  await expectCompletedOnce(account, id, await finish(account, id));
});

/** Completes a task up to the state in which its callback waits for a consumer. */
async function completeWithCallback(account: Account): Promise<string> {
  const id = await submit(account, path, { ...image(unique()), callback_url: hook });
  expect((await finish(account, id)).body.data.status).toBe("completed");
  return id;
}

test("after the settlement and before the callback's message: the object calls by its alarm", async () => {
  const account = await newAccount();
  const received = receivers({ [hook]: ok });
  const id = await submit(account, path, { ...image(unique()), callback_url: hook });
  await deliver(id);
  await pass(id, 2);
  const stopped = stopAt(bindings.queue(), "send", false);
  void deliver(id);
  await stopped();
  await crash(openStub(id));
  await pass(id, 11);
  expect(received).toHaveLength(1);
  expect(await findCallback(account, id)).toMatchObject({ state: "delivered" });
  await expectCompletedOnce(account, id, await finish(account, id));
  expect(received).toHaveLength(1);
});

test("the settlement's answer is lost: it is settled again and called back once", async () => {
  const account = await newAccount();
  const received = receivers({ [hook]: ok });
  const id = await submit(account, path, { ...image(unique()), callback_url: hook });
  await deliver(id);
  await pass(id, 2);
  failWalletOnce(account, "settle", true);
  await deliver(id);
  expect(await findCallback(account, id)).toMatchObject({ state: "none" });
  await pass(id, 1);
  await callBack(id);
  await callBack(id);
  expect(received).toHaveLength(1);
  await expectCompletedOnce(account, id, await finish(account, id));
});

test("the queue refuses the callback's message: the object calls soon", async () => {
  const account = await newAccount();
  const received = receivers({ [hook]: ok });
  const id = await submit(account, path, { ...image(unique()), callback_url: hook });
  await deliver(id);
  await pass(id, 2);
  failOnce(bindings.queue(), "send");
  await deliver(id);
  await pass(id, 2);
  expect(received).toHaveLength(1);
  expect(await findCallback(account, id)).toMatchObject({ state: "delivered" });
});

test("after the claim of a callback: the consumer crashes, which counts as an attempt, and another one calls", async () => {
  const account = await newAccount();
  const received = receivers({ [hook]: ok });
  const id = await completeWithCallback(account);
  expect(await openStub(id).claimCallback()).not.toBeNull();
  expect(await openStub(id).claimCallback()).toBeNull();
  await crash(openStub(id));
  await pass(id, 20);
  expect(await findCallback(account, id)).toMatchObject({ state: "pending", attempts: [{ fault: "interrupted" }] });
  await pass(id, 5);
  await callBack(id);
  expect(received).toHaveLength(1);
  expect(await findCallback(account, id)).toMatchObject({ state: "delivered", attempts: [{}, { status: 204 }] });
});

test("after the call and before its report: the receiver is called again with the same id; a late report changes nothing", async () => {
  const account = await newAccount();
  const received = receivers({ [hook]: ok });
  const id = await completeWithCallback(account);
  const work = await openStub(id).claimCallback();
  failOnce(TaskObject.prototype as never, "reportCallback", false, 3);
  await pass(id, 20);
  await pass(id, 5);
  await callBack(id);
  await pass(id, 20);
  await openStub(id).reportCallback(work!.lease, { outcome: "attempted", at: Date.now(), ms: 1, status: 204 });
  expect(await findCallback(account, id)).toMatchObject({
    state: "pending",
    attempts: [{ fault: "interrupted" }, { fault: "interrupted" }],
  });
  await pass(id, 30);
  await callBack(id);
  expect(received).toHaveLength(2);
  expect(new Set(received.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
  expect(await findCallback(account, id)).toMatchObject({ state: "delivered" });
});

test("the object is reset while it calls by itself: the call is repeated", async () => {
  const account = await newAccount();
  const received = receivers({ [hook]: ok });
  const id = await completeWithCallback(account);
  // oxlint-disable-next-line typescript/unbound-method -- called with its object
  const { commit } = RecordStore.prototype;
  const fail = () => {
    throw new Error("scripted fault");
  };
  // The claim is written, the report is not.
  const commits = vi.spyOn(RecordStore.prototype, "commit").mockImplementationOnce(commit).mockImplementationOnce(fail);
  await pass(id, 10);
  expect(commits).toHaveBeenCalledTimes(2);
  expect(received).toHaveLength(1);
  await pass(id, 20);
  await pass(id, 5);
  await callBack(id);
  expect(received).toHaveLength(2);
  expect(await findCallback(account, id)).toMatchObject({ state: "delivered" });
});

test("a report that arrives while the files are being deleted is stored, and so is their deletion", async () => {
  const account = await newAccount();
  const received = receivers({ [hook]: ok });
  const id = await completeWithCallback(account);
  await pass(id, 10);
  expect(received).toHaveLength(1);
  await pass(id, 86_380);
  await call(`/v1/tasks/${id}/callback`, { key: account.key, method: "POST" });
  const work = await openStub(id).claimCallback();
  const original = bindings.bucket()["delete"]!;
  const remove = vi.spyOn(bindings.bucket(), "delete").mockImplementationOnce(async function (this: unknown, ...values: unknown[]) {
    await runInDurableObject(openStub(id), (object) =>
      object.reportCallback(work!.lease, { outcome: "attempted", at: Date.now(), ms: 1, status: 200 }),
    );
    return original.apply(this, values);
  });
  await pass(id, 15);
  expect(remove).toHaveBeenCalledTimes(1);
  expect(await findCallback(account, id)).toMatchObject({ state: "delivered", attempts: [{ status: 204 }, { status: 200 }] });
  await pass(id, 1);
  expect((await env.ASSETS.list({ prefix: `assets/${id}/` })).objects).toEqual([]);
});

/** A completed task whose files go to a bucket. */
async function completeWithDelivery(account: Account, more: object = {}): Promise<string> {
  expect((await setDestination(account)).status).toBe(200);
  const id = await submit(account, path, { ...image(unique()), deliver_to: { destination: "shop" }, ...more });
  expect((await finish(account, id)).body.data.status).toBe("completed");
  return id;
}
const readDelivery = async (account: Account, id: string) => (await call(`/v1/tasks/${id}`, { key: account.key })).body.data.delivery;
const listDeliveries = async (account: Account) =>
  ((await call("/v1/events", { key: account.key })).body.data as { type: string }[]).filter(({ type }) => type.startsWith("task.deliver"));

test("after the settlement and before the delivery everything crashes: the delivery follows, and nothing is charged twice", async () => {
  const account = await newAccount();
  const { at } = buckets([origin]);
  expect((await setDestination(account)).status).toBe(200);
  const id = await submit(account, path, { ...image(unique()), deliver_to: { destination: "shop" } });
  await deliver(id);
  await pass(id, 2);
  failWalletOnce(account, "settle", true);
  await deliver(id);
  await crash(openStub(id));
  await pass(id, 100);
  expect(at[origin]!.requests).toEqual([]);
  await crash(openStub(id));
  await alarm(id);
  expect(await readDelivery(account, id)).toMatchObject({ status: "delivered" });
  await expectCompletedOnce(account, id, await finish(account, id));
  expect(at[origin]!.requests.filter((request) => request.startsWith("PUT"))).toHaveLength(1);
});

test("the object crashes while it delivers: its lease expires, which counts as an attempt, and the files are sent again", async () => {
  const account = await newAccount();
  const { at } = buckets([origin]);
  const id = await completeWithDelivery(account);
  at[origin]!.mode = "hangs";
  void alarm(id).catch(() => undefined); // ends with the object
  await vi.waitFor(() => expect(at[origin]!.requests).toHaveLength(1));
  await crash(openStub(id));
  at[origin]!.mode = "works";
  await alarm(id);
  expect(await readDelivery(account, id)).toEqual({ status: "pending", files: [], attempts: [] });
  await pass(id, 45);
  expect(await readDelivery(account, id)).toMatchObject({ status: "pending", attempts: [{ fault: "interrupted" }] });
  await pass(id, 5);
  expect(await readDelivery(account, id)).toMatchObject({ status: "delivered", attempts: [{}, { status: 200 }] });
  expect(at[origin]!.objects.size).toBe(1);
});

test("the files have arrived and the object crashes before it writes that: they are sent again under the same keys", async () => {
  const account = await newAccount();
  const { at } = buckets([origin]);
  const id = await completeWithDelivery(account);
  // oxlint-disable-next-line typescript/unbound-method -- called with its object
  const { commit } = RecordStore.prototype;
  const fail = () => {
    throw new Error("scripted fault");
  };
  // The lease is written, the report is not.
  vi.spyOn(RecordStore.prototype, "commit").mockImplementationOnce(commit).mockImplementationOnce(fail);
  await alarm(id);
  expect(at[origin]!.objects.size).toBe(1);
  expect(await readDelivery(account, id)).toMatchObject({ status: "pending", files: [] });
  await crash(openStub(id));
  await pass(id, 45);
  await pass(id, 5);
  expect(await readDelivery(account, id)).toMatchObject({ status: "delivered", attempts: [{ fault: "interrupted" }, { status: 200 }] });
  expect([...at[origin]!.objects.keys()]).toEqual([`${id}/1.png`]);
});

test.each([false, true])(
  "the wallet does not answer when the end of a delivery is announced (done: %s): it stands once among the events",
  async (isDone) => {
    const account = await newAccount();
    const { received } = buckets([origin], { [hook]: ok });
    const id = await completeWithDelivery(account, { callback_url: hook });
    await callBack(id);
    failWalletOnce(account, "noteDelivery", isDone);
    await alarm(id);
    await alarm(id);
    expect(await readDelivery(account, id)).toMatchObject({ status: "delivered" });
    expect(await listDeliveries(account)).toHaveLength(isDone ? 1 : 0);
    await crash(openStub(id));
    await pass(id, 2);
    await alarm(id);
    await callBack(id);
    expect(await listDeliveries(account)).toHaveLength(1);
    expect(received.map(({ body }) => JSON.parse(body).type)).toEqual(["task.completed", "task.delivered"]);
  },
);

test("D1 does not answer when a delivery begins: that is no attempt, and it follows half a minute later", async () => {
  const account = await newAccount();
  const { at } = buckets([origin]);
  const id = await completeWithDelivery(account);
  failOnce(bindings.statement(), "first");
  await alarm(id);
  expect(await readDelivery(account, id)).toMatchObject({ status: "pending", attempts: [] });
  expect(at[origin]!.requests).toEqual([]);
  await pass(id, 30);
  expect(await readDelivery(account, id)).toMatchObject({ status: "delivered", attempts: [{ status: 200 }] });
});

test("a consumer of the earlier version gets no call about a delivery: the object makes it", async () => {
  const account = await newAccount();
  const { received } = buckets([origin], { [hook]: ok });
  const id = await completeWithDelivery(account, { callback_url: hook });
  await callBack(id);
  for (let step = 0; step < 3; step++) await alarm(id);
  expect(await openStub(id).claimCallback()).toBeNull();
  expect(received).toHaveLength(1);
  await pass(id, 2);
  expect(received).toHaveLength(2);
  expect(await findCallback(account, id)).toMatchObject({ delivery: { state: "delivered" } });
});

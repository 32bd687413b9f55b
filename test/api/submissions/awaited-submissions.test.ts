/** `?wait=` on a submission: the answer is held until the task is final. Contract 2. */

import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { TaskObject } from "../../../src/tasks/object/task-object.ts";
import { WalletObject } from "../../../src/wallet/object.ts";
import worker from "../../../src/worker.ts";
import { crash, failOnce, openStub } from "../../support/faults.ts";
import {
  type Account,
  alarmAt,
  call,
  complete,
  deliver,
  finish,
  holdTime,
  newAccount,
  pass,
  readBalance,
  script,
  unique,
  image,
} from "../../support/gateway.ts";

holdTime();

const images = "/v1/images/generations";
const videos = "/v1/videos/generations";
const limited = { RATE_LIMITS: "on" } as Partial<Env>;

const tasks = async (account: Account) => (await call("/v1/tasks", { key: account.key })).body.data as { id: string }[];

/** Waits advance the held time; the first one runs this with the account's newest task. */
function whileWaiting(account?: Account, turn?: (taskId: string) => unknown) {
  let isFirst = true;
  return vi.spyOn(Object.getPrototypeOf(scheduler) as Scheduler, "wait").mockImplementation(async (ms, options) => {
    if (options?.signal) return new Promise(() => undefined);
    vi.setSystemTime(Date.now() + ms);
    if (!isFirst || !account || !turn) return;
    isFirst = false;
    await turn((await tasks(account))[0]!.id);
  });
}

/** The fields of every submission's answer. */
const basics = ["id", "object", "model", "status", "progress", "created_at", "metadata"];

test("one call submits an image and answers with it", async () => {
  const account = await newAccount();
  whileWaiting(account, (id) => finish(account, id));
  const body = { ...image(), reference: "order 7" };
  const { status, headers, body: answer } = await call(`${images}?wait=60`, { key: account.key, body });
  expect(status).toBe(200);
  const { data } = (await call(`/v1/tasks/${answer.id}`, { key: account.key })).body;
  const { reference, ...rest } = data;
  expect([answer, reference]).toEqual([rest, "order 7"]);
  expect(answer).toMatchObject({ status: "completed", progress: 100, cost: { reserved: 0.03, charged: 0.03, returned: 0 } });
  expect(Object.keys(answer).sort()).toEqual([...basics, "completed_at", "expires_at", "result", "cost"].sort());
  expect([headers.get("location"), headers.get("retry-after")]).toEqual([`/v1/tasks/${answer.id}`, null]);
  expect((await call(answer.result.images[0].url[0])).status).toBe(200);
  expect(await readBalance(account)).toMatchObject({ used: 0.03, reserved: 0 });
});

test("a video, a character and a remix wait too", async () => {
  const account = await newAccount();
  const source = await complete(account, videos, { model: "vidA-2", prompt: unique() });
  for (const [path, body, kind] of [
    [videos, { model: "vidB-3.1-fast", prompt: unique() }, "video"],
    [videos, { model: "vidA-2", from_task: source, timestamps: "0,2" }, "character"],
    [`/v1/videos/${source}/remix`, { model: "vidA-2", prompt: unique() }, "remix"],
  ] as const) {
    const waits = whileWaiting(account, (id) => finish(account, id));
    const { body: answer } = await call(`${path}?wait=60`, { key: account.key, body });
    expect(answer).toMatchObject({ status: "completed", metadata: { kind }, result: expect.anything() });
    waits.mockRestore();
  }
});

test("when the time is up the answer has the fields of a submission, in their present state", async () => {
  const account = await newAccount();
  const prompt = unique();
  await script({ match: prompt, polls: [{ progress: 40 }] });
  whileWaiting(account, async (id) => {
    await deliver(id);
    await pass(id, ((await alarmAt(id))! - Date.now()) / 1000);
  });
  const before = Date.now();
  const { headers, body } = await call(`${images}?wait=5`, { key: account.key, body: { model: "imgA-4", prompt } });
  expect(Object.keys(body)).toEqual(basics);
  expect(body).toMatchObject({ status: "in_progress", progress: 40 });
  expect([headers.get("location"), headers.get("retry-after")]).toEqual([`/v1/tasks/${body.id}`, "2"]);
  expect(Date.now() - before).toBeLessThanOrEqual(10_000);
  whileWaiting();
  const video = await call(`${videos}?wait=1`, { key: account.key, body: { model: "vidB-3.1-fast", prompt: unique() } });
  expect([video.body.status, video.body.progress, video.headers.get("retry-after")]).toEqual(["queued", 0, "5"]);
});

test("a task that fails answers 200 with its error, and costs nothing", async () => {
  const account = await newAccount();
  const prompt = unique();
  await script({ match: prompt, polls: [{ failed: "provider_error" }] });
  whileWaiting(account, (id) => finish(account, id));
  const { status, body } = await call(`${images}?wait=60`, { key: account.key, body: { model: "imgA-4", prompt } });
  expect(status).toBe(200);
  expect(body).toMatchObject({ status: "failed", error: { code: "provider_error" }, cost: { charged: 0, returned: 0.03 } });
  expect(Object.keys(body).sort()).toEqual([...basics, "cost", "error"].sort());
});

test.each(["0", "61", "1.5", "x", ""])("?wait=%s is refused at wait, and reserves nothing", async (wait) => {
  const account = await newAccount();
  for (const path of [images, videos, `/v1/videos/task_${"A".repeat(43)}/remix`]) {
    const { status, body } = await call(`${path}?wait=${wait}`, { key: account.key, body: image() });
    expect([status, body.error.code, body.error.param]).toEqual([400, "invalid_request", "wait"]);
  }
  expect([await tasks(account), await readBalance(account)]).toMatchObject([[], { reserved: 0, used: 0 }]);
});

test("a key with too many waits open is refused before anything is reserved", async () => {
  const account = await newAccount();
  const wallet = env.WALLETS.getByName(account.id);
  for (let other = 0; other < 20; other++) await wallet.holdWait(account.keyId, `other ${other}`);
  const sent = { key: account.key, body: image(), vars: limited, headers: { "idempotency-key": unique() } };
  const { status, headers, body } = await call(`${images}?wait=60`, sent);
  expect([status, body.error.code, headers.get("retry-after")]).toEqual([429, "too_many_waits", "5"]);
  expect([await tasks(account), await readBalance(account)]).toMatchObject([[], { reserved: 0, used: 0 }]);
  // The refusal leaves no claim of the idempotency key; a submission that does not wait is accepted.
  const accepted = await call(images, sent);
  expect([accepted.status, accepted.headers.get("idempotent-replayed")]).toEqual([200, null]);
});

test("a wait stops counting when it is answered or its submission is refused", async () => {
  const account = await newAccount(0.04);
  whileWaiting();
  const ended = vi.spyOn(WalletObject.prototype, "endWait");
  const send = () => call(`${images}?wait=1`, { key: account.key, body: image(), vars: limited });
  expect([(await send()).status, (await send()).status]).toEqual([200, 402]);
  await expect.poll(() => ended.mock.calls.length).toBe(2);
});

test("it counts as a submission and as a read, and names the limit of submissions", async () => {
  const { key, keyId } = await newAccount();
  whileWaiting();
  const counted: string[] = [];
  const limiter = (name: string, success = true): RateLimit => ({
    limit: async ({ key: of }) => {
      if (of === keyId) counted.push(name);
      return { success };
    },
  });
  const vars = { ...limited, SUBMISSIONS: limiter("submission"), READS: limiter("read") };
  const waited = await call(`${images}?wait=1`, { key, body: image(), vars });
  expect([counted, waited.headers.get("x-ratelimit-limit-requests")]).toEqual([["submission", "read"], "60"]);
  await call(images, { key, body: image(), vars });
  await call(`${images}?wait=1&dry_run=true`, { key, body: image(), vars });
  expect(counted).toEqual(["submission", "read", "submission", "read"]);
  const refused = await call(`${images}?wait=1`, { key, body: image(), vars: { ...vars, READS: limiter("read", false) } });
  expect([refused.status, refused.headers.get("x-ratelimit-limit-requests")]).toEqual([429, "600"]);
});

test("the task's object crashes while the caller waits: the answer is the finished task, and a repeat is the same one", async () => {
  const account = await newAccount();
  const headers = { "idempotency-key": unique() };
  const body = image();
  const waits = whileWaiting(account, async (id) => {
    await crash(openStub(id));
    await finish(account, id);
  });
  const first = await call(`${images}?wait=60`, { key: account.key, body, headers });
  expect([first.status, first.body.status]).toEqual([200, "completed"]);
  waits.mockRestore();
  const again = await call(`${images}?wait=60`, { key: account.key, body, headers });
  expect([again.status, again.body.id, again.body.status]).toEqual([200, first.body.id, "completed"]);
  expect(await tasks(account)).toHaveLength(1);
  expect(await readBalance(account)).toMatchObject({ used: 0.03, reserved: 0 });
});

test("the time is up after a crash, before the end: the repeat waits for the same task, which is charged once", async () => {
  const account = await newAccount();
  const headers = { "idempotency-key": unique() };
  const body = image();
  const waits = whileWaiting(account, (id) => crash(openStub(id)));
  const first = await call(`${images}?wait=1`, { key: account.key, body, headers });
  expect([first.status, first.body.status]).toEqual([200, "queued"]);
  waits.mockRestore();
  whileWaiting(account, async (id) => {
    await crash(openStub(id));
    await finish(account, id);
  });
  const again = await call(`${images}?wait=60`, { key: account.key, body, headers });
  expect([again.body.id, again.body.status]).toEqual([first.body.id, "completed"]);
  expect(await tasks(account)).toHaveLength(1);
  expect(await readBalance(account)).toMatchObject({ used: 0.03, reserved: 0 });
});

test("a repeat with the same idempotency key waits for the same task; without wait it has the first answer", async () => {
  const account = await newAccount();
  const sent = { key: account.key, body: image(), headers: { "idempotency-key": unique() } };
  const first = await call(images, sent);
  expect(Object.keys(first.body)).toEqual(basics);
  whileWaiting(account, (id) => finish(account, id));
  const repeat = await call(`${images}?wait=60`, sent);
  expect(repeat.headers.get("idempotent-replayed")).toBe("true");
  expect(repeat.body).toMatchObject({ id: first.body.id, status: "completed", result: expect.anything() });
  expect((await call(images, sent)).body).toEqual(first.body);
  // With too many waits open a repeat is answered without waiting.
  vi.spyOn(WalletObject.prototype, "holdWait").mockImplementation(() => false);
  expect((await call(`${images}?wait=60`, { ...sent, vars: limited })).body).toEqual(repeat.body);
  expect([(await tasks(account)).length, (await readBalance(account)).used]).toEqual([1, 0.03]);
});

test("a client token gets its image in one call", async () => {
  const account = await newAccount();
  const terms = { tasks: 1, max_cost: 1, expires_in: 600 };
  const { token } = (await call("/v1/tokens", { key: account.key, body: terms })).body;
  whileWaiting(account, (id) => finish(account, id));
  const { status, headers, body } = await call(`${images}?wait=60`, { key: token, body: image() });
  expect([status, body.status, headers.get("access-control-allow-origin")]).toEqual([200, "completed", "*"]);
});

test("a wait that fails after the task was accepted answers with the accepted task", async () => {
  const account = await newAccount();
  const send = async () => {
    const { status, body } = await call(`${images}?wait=60`, { key: account.key, body: image() });
    return [status, body.status, Object.keys(body)];
  };
  failOnce(TaskObject.prototype as never, "status", false, 1);
  expect(await send()).toEqual([200, "queued", basics]);
  // The key expires while its request waits.
  whileWaiting(account, () => env.DB.prepare("UPDATE api_key SET expires_at = 1 WHERE id = ?1").bind(account.keyId).run());
  const before = Date.now();
  expect(await send()).toEqual([200, "queued", basics]);
  expect(Date.now() - before).toBeLessThanOrEqual(12_000);
});

test("a caller who disconnects ends the wait, and the task goes on", async () => {
  const account = await newAccount();
  const caller = new AbortController();
  const waits = whileWaiting(account, () => caller.abort());
  const headers = { authorization: `Bearer ${account.key}`, "content-type": "application/json" };
  const url = `https://gateway.example${images}?wait=60`;
  const request = new Request(url, { method: "POST", headers, body: JSON.stringify(image()), signal: caller.signal });
  await worker.fetch(request, env, createExecutionContext());
  expect(waits).toHaveBeenCalledTimes(1);
  const [task] = await tasks(account);
  expect((await finish(account, task!.id)).body.data.status).toBe("completed");
});

test("a dry run ignores wait", async () => {
  const account = await newAccount();
  const waits = whileWaiting();
  const { body } = await call(`${images}?wait=60&dry_run=true`, { key: account.key, body: image() });
  expect([body.object, await tasks(account)]).toEqual(["generation.dry_run", []]);
  expect(waits).not.toHaveBeenCalled();
});

/** The list of `/v1/tasks`: pages and filters. Contract 2. Queries are counted at the bindings, where those of another file's objects would count too. */

import "../../support/alone.ts";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { toTaskId } from "../../../src/base/ids.ts";
import type { Answer, Question } from "../../../src/tasks/answers/status.ts";
import { TaskObject } from "../../../src/tasks/object/task-object.ts";
import { bindings, failWalletOnce } from "../../support/faults.ts";
import {
  type Account,
  call,
  chatsSettled,
  deliver,
  finish,
  holdTime,
  newAccount,
  pass,
  script,
  submit,
  unique,
} from "../../support/gateway.ts";
import { newCharge, openWallet } from "../../wallet/support.ts";

holdTime();

const images = "/v1/images/generations";
const videos = "/v1/videos/generations";
const list = (account: Account, query = "") => call(`/v1/tasks${query}`, { key: account.key });
const idsIn = async (account: Account, query = "") => (await list(account, query)).body.data.map(({ id }: { id: string }) => id);
const tick = () => vi.setSystemTime(Date.now() + 1_000);

async function image(account: Account, prompt = unique()): Promise<string> {
  tick();
  return submit(account, images, { model: "imgA-4", prompt });
}

/** One task of each status, oldest first. */
async function oneOfEach(account: Account): Promise<Record<"completed" | "failed" | "in_progress" | "queued", string>> {
  const completed = await image(account);
  await finish(account, completed);
  const prompt = unique();
  await script({ match: prompt, polls: [{ failed: "provider_error" }] });
  const failed = await image(account, prompt);
  await finish(account, failed);
  const in_progress = await image(account);
  await deliver(in_progress);
  return { completed, failed, in_progress, queued: await image(account) };
}

test("the list has the account's tasks, newest first, each as in the generic query", async () => {
  const account = await newAccount();
  const stranger = await newAccount();
  await image(stranger);
  const { completed, failed, in_progress, queued } = await oneOfEach(account);
  const { status, body } = await list(account);
  expect(status).toBe(200);
  const shown = [];
  for (const id of [queued, in_progress, failed, completed]) shown.push((await call(`/v1/tasks/${id}`, { key: account.key })).body.data);
  expect(body).toEqual({ object: "list", data: shown, has_more: false });
  expect((await list(await newAccount())).body).toEqual({ object: "list", data: [], has_more: false });
});

test("chats are not listed", async () => {
  const account = await newAccount();
  await call("/v1/chat/completions", { key: account.key, body: { model: "textA-1", messages: [{ role: "user", content: "hi" }] } });
  expect((await list(account)).body.data).toEqual([]);
  await chatsSettled(account);
  expect((await list(account)).body.data).toEqual([]);
});

test("a refused submission is in no list, before and after D1 has its hold", async () => {
  const account = await newAccount();
  const id = await submit(account, images, { model: "imgA-4", prompt: unique(), reference: "order" });
  const wallet = openWallet(account);
  await wallet.settle({ ...newCharge(account), taskId: id }, 0, "refused");
  for (const step of ["before", "after"]) {
    for (const query of ["", "?kind=image", "?reference=order"]) expect(await idsIn(account, query), `${step} ${query}`).toEqual([]);
    await wallet.writeEnded();
  }
});

test("pages have no gaps, and the last one has has_more false", async () => {
  const account = await newAccount();
  const ids: string[] = [];
  for (let count = 0; count < 5; count++) ids.unshift(await image(account));
  expect(await idsIn(account)).toEqual(ids);
  const pages: [string, string[], boolean][] = [
    ["?limit=2", ids.slice(0, 2), true],
    [`?limit=2&after=${ids[1]}`, ids.slice(2, 4), true],
    [`?limit=2&after=${ids[3]}`, ids.slice(4), false],
    [`?limit=2&after=${ids[4]}`, [], false],
    ["?limit=5", ids, false],
    ["?limit=1", ids.slice(0, 1), true],
  ];
  for (const [query, expected, hasMore] of pages) {
    const { body } = await list(account, query);
    expect([body.data.map(({ id }: { id: string }) => id), body.has_more], query).toEqual([expected, hasMore]);
  }
});

test("tasks submitted within the same millisecond are each listed once", async () => {
  const account = await newAccount();
  const made = new Set<string>();
  for (let count = 0; count < 4; count++) made.add(await submit(account, images, { model: "imgA-4", prompt: unique() }));
  const seen: string[] = [];
  for (let after = ""; ; after = `&after=${seen.at(-1)}`) {
    const { body } = await list(account, `?limit=1${after}`);
    seen.push(...body.data.map(({ id }: { id: string }) => id));
    if (!body.has_more) break;
  }
  expect(seen).toHaveLength(4);
  expect(new Set(seen)).toEqual(made);
});

test("the status filter works over several pages", async () => {
  const account = await newAccount();
  const first = await oneOfEach(account);
  const second = await oneOfEach(account);
  for (const status of ["queued", "in_progress", "completed", "failed"] as const) {
    expect(await idsIn(account, `?status=${status}`), status).toEqual([second[status], first[status]]);
    const page = (await list(account, `?status=${status}&limit=1`)).body;
    expect([page.data.map(({ id }: { id: string }) => id), page.has_more]).toEqual([[second[status]], true]);
    const rest = (await list(account, `?status=${status}&limit=1&after=${second[status]}`)).body;
    expect([rest.data.map(({ id }: { id: string }) => id), rest.has_more]).toEqual([[first[status]], false]);
  }
});

test("a completed task is listed as completed, also while its wallet does not answer", async () => {
  const account = await newAccount();
  const id = await image(account);
  await deliver(id);
  await pass(id, 2);
  failWalletOnce(account, "settle");
  await deliver(id);
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).body.data.status).toBe("completed");
  expect(await idsIn(account, "?status=completed")).toEqual([id]);
});

test("the kind filter", async () => {
  const account = await newAccount();
  const imageId = await image(account);
  tick();
  const video = await submit(account, videos, { model: "vidA-2", prompt: unique() });
  await finish(account, video);
  tick();
  const character = await submit(account, videos, { model: "vidA-2", from_task: video, timestamps: "0,1" });
  tick();
  const remix = await submit(account, `/v1/videos/${video}/remix`, { model: "vidA-2", prompt: unique() });
  const kinds = { image: [imageId], video: [video], character: [character], remix: [remix] };
  for (const [kind, ids] of Object.entries(kinds)) expect(await idsIn(account, `?kind=${kind}`), kind).toEqual(ids);
  expect(await idsIn(account, "?kind=video&status=completed")).toEqual([video]);
  expect(await idsIn(account, "?kind=video&status=failed")).toEqual([]);
});

test("the model filter accepts any of its names", async () => {
  const account = await newAccount();
  const first = await image(account);
  tick();
  const other = await submit(account, images, { model: "imgC-alias-pro", prompt: unique() });
  const last = await image(account);
  expect(await idsIn(account, "?model=imgA-4")).toEqual([last, first]);
  for (const name of ["imgC-3-pro-image-preview", "imgC-alias-pro"]) expect(await idsIn(account, `?model=${name}`)).toEqual([other]);
  const page = (await list(account, "?model=imgA-4&limit=1")).body;
  expect([page.data[0].id, page.has_more]).toEqual([last, true]);
  expect(await idsIn(account, `?model=imgA-4&limit=1&after=${last}`)).toEqual([first]);
  expect(await idsIn(account, "?model=imgA-4&kind=video")).toEqual([]);
});

test.each([
  ["limit", ["0", "101", "x", "", "-1", "1.5"]],
  ["status", ["submitted", "done", "", "QUEUED"]],
  ["kind", ["chat", "images", ""]],
  ["model", ["imgA", "IMGA-4", ""]],
])("a bad %s is 400 in the envelope of the family", async (param, values) => {
  const account = await newAccount();
  for (const value of values) {
    const { status, body } = await list(account, `?${param}=${value}`);
    expect(status, value).toBe(400);
    expect(body).toEqual({
      code: 400,
      message: body.error.message,
      error: {
        message: expect.stringContaining(param),
        type: "invalid_request",
        code: "invalid_request",
        param,
        details: [{ param, message: expect.any(String), allowed: expect.anything() }],
      },
    });
  }
  expect((await list(account, "?limit=100")).status).toBe(200);
});

test("deleted records are not listed", async () => {
  const account = await newAccount();
  const old = await image(account);
  await finish(account, old);
  vi.setSystemTime(Date.now() + 604_801_000);
  await pass(old, 0);
  await pass(old, 0);
  const fresh = await image(account);
  expect((await list(account)).body).toMatchObject({ data: [{ id: fresh }], has_more: false });
  expect((await list(account, "?status=completed")).body).toEqual({ object: "list", data: [], has_more: false });
});

test("a filter does not read every record that ended long ago", async () => {
  const account = await newAccount();
  const fresh = await image(account);
  const row = env.DB.prepare(
    `INSERT INTO entry (task_id, account_id, key_id, kind, model, held, charged, outcome, at, closed_at)
     VALUES (?1, ?2, ?3, 'image', 'imgA-4', 0, 0, 'completed', ?4, ?4)`,
  );
  const old = Array.from({ length: 100 }, () => toTaskId(env.TASKS.newUniqueId()));
  await env.DB.batch(old.map((id, at) => row.bind(id, account.id, account.keyId, at)));
  for (const [query, ids] of [
    ["", [fresh]],
    ["&status=queued", [fresh]],
    ["&status=completed", []],
    ["&kind=image", [fresh]],
  ] as const) {
    const reads = vi.spyOn(TaskObject.prototype, "read");
    expect(await idsIn(account, `?limit=5${query}`), query).toEqual(ids);
    expect(reads.mock.calls.length, query).toBeLessThan(30);
    reads.mockRestore();
  }
});

/** Holds in the account's wallet for open tasks that have no record, as of records that were deleted; newest first. */
async function holdWithoutRecords(account: Account, count: number): Promise<string[]> {
  const wallet = env.WALLETS.getByName(account.id);
  const made: string[] = [];
  for (let at = 0; at < count; at++) {
    tick();
    const taskId = toTaskId(env.TASKS.newUniqueId());
    await wallet.reserve({ taskId, accountId: account.id, keyId: account.keyId, kind: "image", model: "imgA-4" }, 0, {});
    made.unshift(taskId);
  }
  return made;
}

/** Counts the reads of D1, those of objects that are answered, and how many of them wait at once, until the test ends. A list writes nothing: writes are those of wallets, which come when they like. */
function countCalls() {
  const counts = { d1: 0, objects: 0, waiting: 0, maxWaiting: 0 };
  const isRead = ({ statement }: { statement: string }) => /^\s*(SELECT|WITH)\b/.test(statement);
  const count = (target: ReturnType<typeof bindings.database>, method: string) => {
    const original = target[method]!;
    vi.spyOn(target, method).mockImplementation(function (this: unknown, ...values) {
      const statements = method === "batch" ? values[0] : [this];
      if ((statements as { statement: string }[]).every(isRead)) counts.d1++;
      return original.apply(this, values);
    });
  };
  count(bindings.database(), "batch");
  for (const method of ["run", "first", "all"]) count(bindings.statement(), method);
  const { status: ask } = TaskObject.prototype as unknown as { status: (this: TaskObject, question: Question) => Promise<Answer | null> };
  vi.spyOn(TaskObject.prototype, "status").mockImplementation(async function (this: TaskObject, question) {
    counts.objects++;
    counts.maxWaiting = Math.max(counts.maxWaiting, ++counts.waiting);
    await scheduler.wait(1);
    try {
      return await ask.call(this, question);
    } finally {
      counts.waiting--;
    }
  });
  return counts;
}

test("a filter on 150 open tasks asks as few objects as it finds, or each once, with few queries of D1 and six calls at a time", async () => {
  const account = await newAccount(1_000);
  const ids: string[] = [];
  for (let count = 0; count < 150; count++) {
    vi.setSystemTime(Date.now() + 10);
    ids.unshift(await submit(account, images, { model: "imgA-4", prompt: unique() }));
  }
  await deliver(ids.at(-1)!);
  await list(account); // the key is known, and the wallet has its rows
  for (const [query, shown, hasMore, objects] of [
    ["?limit=1&status=queued", ids.slice(0, 1), true, 6],
    ["?limit=1&status=in_progress", ids.slice(-1), false, 150],
    ["?limit=1&status=completed", [], false, 150],
    ["?limit=1&status=queued&kind=image&model=imgA-4", ids.slice(0, 1), true, 6],
    ["?limit=1&status=queued&kind=video", [], false, 0],
    ["?limit=100&status=queued", ids.slice(0, 100), true, 101],
    ["?limit=1", ids.slice(0, 1), true, 2],
  ] as const) {
    const counts = countCalls();
    const { body } = await list(account, query);
    expect([body.data.map(({ id }: { id: string }) => id), body.has_more, body.next_after], query).toEqual([shown, hasMore, undefined]);
    expect([counts.objects, counts.maxWaiting <= 6, counts.d1 <= 3], `${query} ${JSON.stringify(counts)}`).toEqual([objects, true, true]);
    vi.restoreAllMocks();
  }
});

test("a page that would ask more than 500 objects ends early, and next_after continues it; it counts as a read for each 101", async () => {
  const account = await newAccount();
  const READS = { limit: vi.fn<RateLimit["limit"]>(async () => ({ success: true })) };
  const limited = (query: string) => call(`/v1/tasks${query}`, { key: account.key, vars: { RATE_LIMITS: "on", READS } });
  const oldest = await image(account);
  const held = await holdWithoutRecords(account, 502);
  for (const query of ["?limit=2", "?limit=2&status=queued"]) {
    const counts = countCalls();
    READS.limit.mockClear();
    const first = (await limited(query)).body;
    expect(first, query).toEqual({ object: "list", data: [], has_more: true, next_after: held[499] });
    expect(READS.limit).toHaveBeenCalledTimes(5);
    expect([counts.objects, counts.d1 <= 8], `${query} ${JSON.stringify(counts)}`).toEqual([500, true]);
    vi.restoreAllMocks();
    const second = (await list(account, `${query}&after=${first.next_after}`)).body;
    expect([second.data.map(({ id }: { id: string }) => id), second.has_more, second.next_after], query).toEqual([
      [oldest],
      false,
      undefined,
    ]);
  }
  const counts = countCalls();
  READS.limit.mockImplementation(async () => ({ success: READS.limit.mock.calls.length <= 1 }));
  READS.limit.mockClear();
  expect((await limited("?limit=2")).status).toBe(429);
  expect(counts.objects).toBeLessThanOrEqual(101);
});

test("a reference's list with a kind does not ask the objects of other kinds, and continues after a deleted task", async () => {
  const account = await newAccount();
  const reference = unique();
  const made: string[] = [];
  for (let count = 0; count < 8; count++) {
    tick();
    made.unshift(await submit(account, images, { model: "imgA-4", prompt: unique(), reference }));
  }
  tick();
  const video = await submit(account, videos, { model: "vidA-2", prompt: unique(), reference });
  const counts = countCalls();
  expect(await idsIn(account, `?reference=${reference}&kind=video`)).toEqual([video]);
  expect(counts.objects).toBe(1);
  vi.restoreAllMocks();
  await call(`/v1/tasks/${made[3]}/cancel`, { key: account.key, method: "POST" });
  expect((await call(`/v1/tasks/${made[3]}`, { key: account.key, method: "DELETE" })).status).toBe(204);
  expect(await idsIn(account, `?reference=${reference}&limit=2&after=${made[3]}`)).toEqual(made.slice(4, 6));
});

test("a list of a reference that thousands of tasks have reads a bounded number of rows, whatever matches", async () => {
  const account = await newAccount();
  const reference = unique();
  tick();
  const prompt = unique();
  await script({ match: prompt, polls: [{ failed: "provider_error" }] });
  const failed = await submit(account, images, { model: "imgA-4", prompt, reference });
  await finish(account, failed);
  const now = Date.now();
  const count = 6_000;
  const ids = Array.from({ length: count }, () => toTaskId(env.TASKS.newUniqueId()));
  const rows = JSON.stringify(ids.map((id, at) => [id, now + 1_000 * (1 + at)]));
  await env.DB.batch([
    env.DB.prepare(
      `INSERT INTO entry (task_id, account_id, key_id, kind, model, held, charged, outcome, at, closed_at)
       SELECT value ->> 0, ?2, ?3, 'image', 'imgA-4', 0, 0, 'completed', value ->> 1, value ->> 1 FROM json_each(?1)`,
    ).bind(rows, account.id, account.keyId),
    env.DB.prepare(
      "INSERT INTO task_reference (account_id, reference, at, task_id) SELECT ?2, ?3, value ->> 1, value ->> 0 FROM json_each(?1)",
    ).bind(rows, account.id, reference),
  ]);
  vi.setSystemTime(now + 1_000 * (1 + count));
  /** The rows that D1 read for a list. */
  const readFor = async (query: string) => {
    const run = vi.spyOn(bindings.statement(), "run");
    const first = vi.spyOn(bindings.statement(), "first");
    const { body } = await list(account, `?reference=${reference}${query}`);
    const results = (await Promise.all(run.mock.results.map(({ value }) => value as Promise<D1Result>))).map(({ meta }) => meta.rows_read);
    const sum = results.reduce((total, read) => total + read, 0);
    expect(first.mock.calls.length).toBeLessThan(5);
    vi.restoreAllMocks();
    return { body, sum };
  };
  const early = await readFor("&status=failed");
  expect(early.body).toEqual({ object: "list", data: [], has_more: true, next_after: ids[count - 5_000] });
  expect(early.sum).toBeLessThan(12_000);
  const rest = await readFor(`&status=failed&after=${early.body.next_after}`);
  expect([rest.body.data.map(({ id }: { id: string }) => id), rest.body.has_more]).toEqual([[failed], false]);
  expect(rest.sum).toBeLessThan(4_000);
});

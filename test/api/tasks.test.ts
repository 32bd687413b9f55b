/** `/v1/tasks`: the list, cancelling, and what was never issued. Contract 2 and 5. */

import { env } from "cloudflare:workers";
import { afterEach, expect, test, vi } from "vitest";
import { taskIdOf } from "../../src/ids.ts";
import { TaskObject } from "../../src/tasks/task-object.ts";
import { bindings, failOnce } from "../support/faults.ts";
import { type Account, books, call, deliver, finish, holdTime, newAccount, pass, script, submit, unique } from "../support/gateway.ts";

holdTime();
afterEach(() => vi.restoreAllMocks());

const images = "/v1/images/generations";
const videos = "/v1/videos/generations";
const list = (account: Account, query = "") => call(`/v1/tasks${query}`, { key: account.key });
const idsIn = async (account: Account, query = "") => (await list(account, query)).body.data.map(({ id }: { id: string }) => id);
const tick = () => vi.setSystemTime(Date.now() + 1_000);

async function image(account: Account, prompt = unique()): Promise<string> {
  tick();
  return submit(account, images, { model: "imgA-4", prompt });
}

const notFound = {
  code: 404,
  message: "The task does not exist.",
  error: { message: "The task does not exist.", type: "task_not_found", code: "task_not_found", param: null },
};

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

test("the list has the account's tasks, newest first, each as the generic query shows it", async () => {
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

test("chats are no tasks", async () => {
  const account = await newAccount();
  await call("/v1/chat/completions", { key: account.key, body: { model: "textA-1", messages: [{ role: "user", content: "hi" }] } });
  expect((await list(account)).body.data).toEqual([]);
});

test("pages follow each other without a gap, and the last one says so", async () => {
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

test("status filters, also over several pages", async () => {
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

test("a task that is completed is listed as completed, also while D1 is too busy to close its books", async () => {
  const account = await newAccount();
  const id = await image(account);
  await deliver(id);
  await pass(id, 2);
  failOnce(bindings.database(), "batch");
  await deliver(id);
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).body.data.status).toBe("completed");
  expect(await idsIn(account, "?status=completed")).toEqual([id]);
});

test("kind filters", async () => {
  const account = await newAccount();
  const picture = await image(account);
  tick();
  const video = await submit(account, videos, { model: "vidA-2", prompt: unique() });
  await finish(account, video);
  tick();
  const character = await submit(account, videos, { model: "vidA-2", from_task: video, timestamps: "0,1" });
  tick();
  const remix = await submit(account, `/v1/videos/${video}/remix`, { model: "vidA-2", prompt: unique() });
  const kinds = { image: [picture], video: [video], character: [character], remix: [remix] };
  for (const [kind, ids] of Object.entries(kinds)) expect(await idsIn(account, `?kind=${kind}`), kind).toEqual(ids);
  expect(await idsIn(account, "?kind=video&status=completed")).toEqual([video]);
  expect(await idsIn(account, "?kind=video&status=failed")).toEqual([]);
});

test.each([
  ["limit", ["0", "101", "x", "", "-1", "1.5"]],
  ["status", ["submitted", "done", "", "QUEUED"]],
  ["kind", ["chat", "images", ""]],
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

test("records that ended are missing from the list", async () => {
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

test("a filter does not ask for each of the many records that ended long ago", async () => {
  const account = await newAccount();
  const fresh = await image(account);
  const row = env.DB.prepare(
    `INSERT INTO entry (task_id, step, account_id, key_id, kind, model, held, outcome, at) VALUES (?1, ?2, ?3, ?4, 'image', 'imgA-4', 0, ?5, ?6)`,
  );
  const old = Array.from({ length: 100 }, () => taskIdOf(env.TASKS.newUniqueId()));
  await env.DB.batch(old.map((id, at) => row.bind(id, "reserve", account.id, account.keyId, null, at)));
  await env.DB.batch(old.map((id, at) => row.bind(id, "close", account.id, account.keyId, "completed", at)));
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

test("cancelling answers as the generic query, with everything returned", async () => {
  const account = await newAccount();
  const id = await image(account);
  await deliver(id);
  const { status, body } = await call(`/v1/tasks/${id}/cancel`, { key: account.key, method: "POST" });
  expect(status).toBe(200);
  expect(body).toEqual((await call(`/v1/tasks/${id}`, { key: account.key })).body);
  expect(body).toMatchObject({ code: 200, message: "The task was cancelled.", data: { status: "failed", error: { code: "cancelled" } } });
  expect(await books(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("a final task cannot be cancelled: 409, and it stays as it is", async () => {
  const account = await newAccount();
  const id = await image(account);
  const before = await finish(account, id);
  const { status, body } = await call(`/v1/tasks/${id}/cancel`, { key: account.key, body: {} });
  expect(status).toBe(409);
  const error = { message: "The task has already ended.", type: "invalid_request", code: "task_already_final", param: null };
  expect(body).toEqual({ code: 409, message: error.message, error });
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).body).toEqual(before.body);
});

test("a cancel takes no body or an object, nothing else", async () => {
  const account = await newAccount();
  const id = await image(account);
  for (const body of ["[]", "1", "nonsense"])
    expect(await call(`/v1/tasks/${id}/cancel`, { key: account.key, body })).toMatchObject({ status: 400, body: { code: 400 } });
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).body.data.status).toBe("queued");
  expect((await call(`/v1/tasks/${id}/cancel`, { key: account.key, body: {} })).status).toBe(200);
});

test("a task of another account can be neither read nor cancelled", async () => {
  const account = await newAccount();
  const stranger = await newAccount();
  const id = await image(account);
  expect(await call(`/v1/tasks/${id}`, { key: stranger.key })).toMatchObject({ status: 404, body: notFound });
  expect(await call(`/v1/tasks/${id}/cancel`, { key: stranger.key, method: "POST" })).toMatchObject({ status: 404, body: notFound });
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).body.data.status).toBe("queued");
});

test("an id that was never issued is 404 on every path and wakes no object", async () => {
  const account = await newAccount();
  const id = await image(account);
  const reads = vi.spyOn(TaskObject.prototype, "read");
  const cancels = vi.spyOn(TaskObject.prototype, "cancel");
  const stubs = vi.spyOn(bindings.namespace(), "get");
  const last = id.at(-1)!;
  const flipped = id.slice(0, -2) + (id.at(-2) === "A" ? "B" : "A") + last;
  const spelled = id.slice(0, -1) + String.fromCharCode(last.charCodeAt(0) + 1);
  for (const forged of [
    "x",
    "task_",
    `task_${"A".repeat(43)}`,
    flipped,
    spelled,
    `${id}A`,
    id.toUpperCase(),
    "task_%F0%9F%98%80",
    "%E0%A4%A",
  ]) {
    expect(await call(`/v1/tasks/${forged}`, { key: account.key }), forged).toMatchObject({ status: 404, body: notFound });
    expect(await call(`/v1/tasks/${forged}/cancel`, { key: account.key, method: "POST" }), forged).toMatchObject({ status: 404 });
    for (const path of [videos, "/v1/characters_tasks"])
      expect((await call(`${path}/${forged}`, { key: account.key })).body, forged).toEqual({ error: notFound.error });
  }
  expect([reads, cancels, stubs].map(({ mock }) => mock.calls.length)).toEqual([0, 0, 0]);
});

test("what is unknown below /v1/tasks answers in the family's envelope", async () => {
  const account = await newAccount();
  const id = await image(account);
  const error = { message: "There is nothing at this address.", type: "invalid_request", code: "not_found", param: null };
  for (const path of [`/v1/tasks/${id}/unknown`, `/v1/tasks/${id}/cancel/more`])
    expect(await call(path, { key: account.key })).toMatchObject({ status: 404, body: { code: 404, message: error.message, error } });
  const { status, headers, body } = await call(`/v1/tasks/${id}`, { key: account.key, method: "DELETE" });
  expect([status, headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  expect(body).toEqual({ code: 405, message: body.error.message, error: expect.objectContaining({ code: "method_not_allowed" }) });
});

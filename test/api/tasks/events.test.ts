/** `/v1/events`: the account's final tasks, in the order in which they ended. Contract 7. */

import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { listEndedTasks } from "../../../src/db/ledger-reports.ts";
import { writeEntries } from "../../../src/db/grants.ts";
import { bindings, failOnce, failWalletOnce, spyOn } from "../../support/faults.ts";
import {
  type Account,
  call,
  chatsSettled,
  complete,
  finish,
  holdTime,
  newAccount,
  script,
  submit,
  unique,
  image,
  cancel,
  newTask,
} from "../../support/gateway.ts";
import { settledImage } from "../../support/settled.ts";

holdTime();

const images = "/v1/images/generations";
const events = async (account: Account, query = "") => (await call(`/v1/events${query}`, { key: account.key })).body;
const readTasks = (body: { data: { task: string }[] }) => body.data.map(({ task }) => task);

test("tasks are listed in the order in which they ended, with their outcome; open tasks, chats and other accounts' tasks are not listed", async () => {
  const [account, stranger] = [await newAccount(), await newAccount()];
  const prompt = unique();
  await script({ match: prompt, polls: [{ failed: "content_policy_violation" }] });
  const [first, second, open] = [
    await submit(account, images, image()),
    await submit(account, images, { model: "imgA-4", prompt }),
    await submit(account, images, image()),
  ];
  await complete(stranger, images, image());
  await finish(account, second);
  await finish(account, first);
  const chat = { model: "textA-1", messages: [{ role: "user", content: unique() }] };
  expect((await call("/v1/chat/completions", { key: account.key, body: chat })).status).toBe(200);
  await chatsSettled(account);
  const answer = await events(account);
  const at = expect.any(Number);
  expect(answer).toEqual({
    object: "list",
    data: [
      { id: second.replace("task_", "evt_"), type: "task.failed", at, task: second },
      { id: first.replace("task_", "evt_"), type: "task.completed", at, task: first },
    ],
    has_more: false,
  });
  expect(Math.abs(answer.data[1].at - Date.now() / 1000)).toBeLessThan(10);
  await cancel(account, open);
  expect(readTasks(await events(account))).toEqual([second, first, open]);
});

test("paging from the last id returns each task once", async () => {
  const account = await newAccount();
  // All of them end in the same millisecond.
  const ids = await Promise.all(Array.from({ length: 7 }, () => submit(account, images, image())));
  await Promise.all(ids.map((id) => cancel(account, id)));
  const seen: string[] = [];
  let after = "";
  for (;;) {
    const page = await events(account, `?limit=3${after}`);
    expect(page.data.length).toBeLessThanOrEqual(3);
    seen.push(...readTasks(page));
    after = `&after=${page.data.at(-1).id}`;
    if (!page.has_more) break;
  }
  expect(seen.toSorted()).toEqual(ids.toSorted());
  expect(await events(account, `?${after.slice(1)}`)).toEqual({ object: "list", data: [], has_more: false });
});

test("a task settled by a slow clock is listed after the tasks that were settled before it", async () => {
  const account = await newAccount();
  const ids = [await submit(account, images, image()), await submit(account, images, image())];
  await cancel(account, ids[0]!);
  const { data } = await events(account);
  const charge = { taskId: ids[1]!, accountId: account.id, keyId: account.keyId, kind: "image", model: "imgA-4" };
  vi.setSystemTime(Date.now() - 60_000);
  await env.WALLETS.getByName(account.id).settle(charge, 0, "cancelled");
  vi.setSystemTime(Date.now() + 60_000);
  expect(readTasks(await events(account, `?after=${data[0].id}`))).toEqual([ids[1]]);
});

test("a refused submission has no event", async () => {
  const account = await newAccount();
  failWalletOnce(account, "reserve", true);
  expect((await call(images, { key: account.key, body: image() })).status).toBe(503);
  expect((await events(account)).data).toEqual([]);
});

test("tasks that ended more than seven days ago are not listed", async () => {
  const account = await newAccount();
  const old = await submit(account, images, image());
  await cancel(account, old);
  vi.setSystemTime(Date.now() + 6 * 86_400_000);
  const recent = await submit(account, images, image());
  await cancel(account, recent);
  expect(readTasks(await events(account))).toEqual([old, recent]);
  vi.setSystemTime(Date.now() + 86_400_000);
  expect(readTasks(await events(account))).toEqual([recent]);
  expect(readTasks(await events(account, `?after=${old.replace("task_", "evt_")}`))).toEqual([recent]);
});

test("wait holds the answer until a task ends", async () => {
  const { account, id } = await newTask();
  const waits: number[] = [];
  vi.spyOn(Object.getPrototypeOf(scheduler) as Scheduler, "wait").mockImplementation(async (ms) => {
    waits.push(ms);
    vi.setSystemTime(Date.now() + ms);
    if (waits.length === 2) await env.TASKS.get(env.TASKS.idFromString(readId(id))).cancel(question(account));
  });
  expect(readTasks(await events(account, "?wait=60"))).toEqual([id]);
  expect(waits).toEqual([2_000, 2_000]);
  const { data } = await events(account, `?wait=5&after=${id.replace("task_", "evt_")}`);
  expect(data).toEqual([]);
  expect(waits.slice(2)).toEqual([2_000, 2_000, 1_000]);
});

test("while nothing ends D1 is asked once, however long a caller waits, and chats that end do not count", async () => {
  const account = await newAccount();
  const chat = { model: "textA-1", messages: [{ role: "user", content: unique() }] };
  const id = await submit(account, images, image());
  let steps = 0;
  vi.spyOn(Object.getPrototypeOf(scheduler) as Scheduler, "wait").mockImplementation(async (ms) => {
    vi.setSystemTime(Date.now() + ms);
    if (++steps === 10) await call("/v1/chat/completions", { key: account.key, body: chat });
    if (steps === 25) await env.TASKS.get(env.TASKS.idFromString(readId(id))).cancel(question(account));
  });
  let asked = 0;
  const { run } = bindings.statement();
  vi.spyOn(bindings.statement(), "run").mockImplementation(function (this: unknown, ...values) {
    if ((this as { statement: string }).statement.includes("FROM ended_page")) asked++;
    return run!.apply(this, values);
  });
  expect(readTasks(await events(account, "?wait=60"))).toEqual([id]);
  expect([steps, asked]).toEqual([25, 2]);
});

const readId = (taskId: string) => Uint8Array.fromBase64(taskId.slice(5), { alphabet: "base64url" }).toHex();
const question = ({ id: accountId }: Account) => ({ accountId, view: "generic", language: "en", base: "https://gateway.example" }) as const;

test.each(["after=", "after=evt_x", "after=task_x", "limit=0", "limit=101", "wait=0", "wait=61", "wait=x"])(
  "?%s is refused",
  async (query) => {
    const { key } = await newAccount();
    const param = query.split("=")[0];
    expect(await call(`/v1/events?${query}`, { key })).toMatchObject({ status: 400, body: { error: { param } } });
  },
);

test("an event of another account, or an open task, is refused as `after`", async () => {
  const [account, stranger] = [await newAccount(), await newAccount()];
  const foreign = await submit(stranger, images, image());
  await cancel(stranger, foreign);
  const open = await submit(account, images, image());
  for (const id of [foreign, open])
    expect((await call(`/v1/events?after=${id.replace("task_", "evt_")}`, { key: account.key })).status).toBe(400);
});

test("a reader whose last event a restored database has lost continues from the end of its task", async () => {
  const account = await newAccount();
  const [lost, next] = (await endTogether(account, 2)) as [string, string];
  expect(readTasks(await events(account))).toEqual([lost, next]);
  await env.DB.prepare("DELETE FROM entry WHERE task_id = ?1").bind(lost).run();
  for (const id of [lost.replace("task_", "evt_"), `${lost.replace("task_", "evt_")}-delivery`])
    expect(readTasks(await events(account, `?after=${id}`))).toEqual([next]);
});

/** Writes settled tasks of an account in no page: one for each of these times (milliseconds). */
const writeUnpaged = (account: Account, times: number[]) =>
  env.DB.prepare(
    `INSERT INTO entry (task_id, account_id, key_id, kind, model, held, charged, outcome, at, closed_at)
     SELECT ?1 || value, ?2, ?3, 'image', 'imgA-4', 1, 1, 'completed', value - 1, value FROM json_each(?4)`,
  )
    .bind(`${account.id} `, account.id, account.keyId, JSON.stringify(times))
    .run();

/** The account's pages, and the tasks that are in one, oldest first. */
async function readPages({ id }: Account) {
  const [pages, paged] = await env.DB.batch<{ tasks: string; taskId: string; at: number }>([
    env.DB.prepare("SELECT tasks FROM ended_page WHERE account_id = ?1 ORDER BY ended_at").bind(id),
    env.DB.prepare("SELECT task_id AS taskId, closed_at AS at FROM entry WHERE account_id = ?1 AND paged = 1 ORDER BY closed_at").bind(id),
  ]);
  return { pages: pages!.results.map(({ tasks }) => JSON.parse(tasks) as string[]), paged: paged!.results };
}

/** Ends as many tasks of the account, a second apart, which are written to D1 together; returns their ids. */
async function endTogether(account: Account, count: number): Promise<string[]> {
  const ids: string[] = [];
  while (ids.length < count) ids.push(await submit(account, images, image()));
  for (const id of ids) {
    await cancel(account, id);
    vi.setSystemTime(Date.now() + 1_000);
  }
  await events(account);
  return ids;
}

test("tasks of pages, tasks that are written alone, and those that are in no page are in one order", async () => {
  const account = await newAccount();
  const pages = [await endTogether(account, 2), await endTogether(account, 1), await endTogether(account, 3)];
  const read = await readPages(account);
  expect(read.pages).toEqual([pages[0], pages[2]]);
  expect(read.paged.map(({ taskId }) => taskId)).toEqual([...pages[0]!, ...pages[2]!]);
  expect(readTasks(await events(account))).toEqual(pages.flat());
  const between = [0, 2, 4].map((n) => read.paged[n]!.at + 500);
  await writeUnpaged(account, between);
  const listed = await listEndedTasks(env.DB, account.id, 0, 100);
  expect(listed).toHaveLength(9);
  expect(listed.map((task) => task.at)).toEqual(listed.map((task) => task.at).toSorted((a, b) => a - b));
  expect(listed.map((task) => task.at)).toEqual(expect.arrayContaining(between));
  const seen: typeof listed = [];
  for (;;) {
    const page = await listEndedTasks(env.DB, account.id, seen.at(-1)?.at ?? 0, 2);
    seen.push(...page);
    if (page.length < 2) break;
  }
  expect(seen).toEqual(listed);
});

test("a batch whose answer is lost is written again, with the tasks that ended meanwhile: each task has one event", async () => {
  const account = await newAccount();
  const ids: string[] = [];
  for (let count = 0; count < 4; count++) ids.push(await submit(account, images, image()));
  for (const id of ids.slice(0, 2)) await cancel(account, id);
  failOnce(bindings.database(), "batch", true);
  expect((await call("/v1/events", { key: account.key })).status).toBe(500);
  for (const id of ids.slice(2)) await cancel(account, id);
  expect(readTasks(await events(account))).toEqual(ids);
  expect((await readPages(account)).pages).toEqual([ids.slice(0, 2), ids.slice(2)]);
});

test("a task that is written after tasks that ended later is in no page, and has its event", async () => {
  const account = await newAccount();
  const now = Date.now();
  await writeEntries(env.DB, account.id, 0, [settledImage(account, "task_2", now - 20), settledImage(account, "task_3", now - 10)]);
  // A wallet object that lost its storage does not know the last time; nor does one that writes the entries of a restored database again.
  await writeEntries(env.DB, account.id, 0, [settledImage(account, "task_1", now - 30), settledImage(account, "task_4", now - 5)]);
  await writeEntries(env.DB, account.id, 0, [settledImage(account, "task_5", now - 2), settledImage(account, "task_6", now - 1)]);
  expect((await listEndedTasks(env.DB, account.id, now - 25, 2)).map(({ taskId }) => taskId)).toEqual(["task_2", "task_3"]);
  expect((await listEndedTasks(env.DB, account.id, 0, 10)).map(({ taskId }) => taskId)).toEqual([1, 2, 3, 4, 5, 6].map((n) => `task_${n}`));
  expect((await readPages(account)).paged.map(({ taskId }) => taskId)).toEqual(["task_2", "task_3", "task_5", "task_6"]);
});

test("a page of the list reads only its own rows", async () => {
  const account = await newAccount();
  const [count, perBatch, began] = [600, 10, Date.now() - 86_400_000];
  for (let first = 0; first < count; first += perBatch)
    await writeEntries(
      env.DB,
      account.id,
      0,
      Array.from({ length: perBatch }, (_, n) => began + 1_000 * (first + n)).map((at) =>
        settledImage(account, `${account.id} paged ${at}`, at),
      ),
    );
  await writeUnpaged(
    account,
    Array.from({ length: count }, (_, n) => began + 1_000 * n + 500),
  );
  const run = spyOn(bindings.statement(), "run").mockClear();
  const after = began + 100_000;
  expect((await listEndedTasks(env.DB, account.id, after, 5)).map(({ at }) => at)).toEqual([1, 2, 3, 4, 5].map((n) => after + 500 * n));
  const { meta } = (await run.mock.results[0]!.value) as D1Result;
  // At most one page of tasks beside those that are listed; of each task its row, and its place in the index or the page.
  expect(meta.rows_read).toBeLessThanOrEqual(60);
});

/** `/v1/events`: the account's final tasks, in the order in which they ended. Contract 7. */

import { env } from "cloudflare:workers";
import { afterEach, expect, test, vi } from "vitest";
import { WalletObject } from "../../src/tasks/wallet-object.ts";
import { bindings, failOnce, spyOn } from "../support/faults.ts";
import { type Account, call, complete, finish, holdTime, newAccount, script, submit, unique } from "../support/gateway.ts";

holdTime();
afterEach(() => vi.restoreAllMocks());

const images = "/v1/images/generations";
const image = () => ({ model: "imgA-4", prompt: unique() });
const events = async (account: Account, query = "") => (await call(`/v1/events${query}`, { key: account.key })).body;
const readTasks = (body: { data: { task: string }[] }) => body.data.map(({ task }) => task);
const cancel = (account: Account, id: string) => call(`/v1/tasks/${id}/cancel`, { key: account.key, method: "POST" });

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
  failOnce(WalletObject.prototype as never, "reserve", true);
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
  const account = await newAccount();
  const id = await submit(account, images, image());
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

test("a page reads only its own rows", async () => {
  const account = await newAccount();
  const prepare = spyOn(bindings.database(), "prepare").mockClear();
  await call("/v1/events", { key: account.key });
  const asked = prepare.mock.calls.map(([sql]) => String(sql)).filter((sql) => sql.includes("ORDER BY closed_at"));
  prepare.mockRestore();
  expect(asked).toHaveLength(1);
  const { results } = await env.DB.prepare(`EXPLAIN QUERY PLAN ${asked[0]}`).bind(account.id, 0, 10).run<{ detail: string }>();
  expect(results.map(({ detail }) => detail)).toEqual(["SEARCH entry USING INDEX entry_ended (<expr>=? AND closed_at>?)"]);
});

/** The log of requests for callers: what is stored, in how many writes, for how long, and how it is read. */

import { env } from "cloudflare:workers";
import { afterEach, expect, test, vi } from "vitest";
import { type LoggedRequest, type RequestPage, writeRequests } from "../../../src/db/request-pages.ts";
import { readRequests, type RequestFilter } from "../../../src/db/requests.ts";
import { runOnce } from "../../operations/support.ts";
import { bindings, spyOn } from "../../support/faults.ts";
import { type Account, call, newAccount, unique } from "../../support/gateway.ts";

afterEach(() => void vi.useRealTimers());

const hourMs = 3_600_000;
/** The beginning of a day (UTC) ahead of the clock. */
const start = 86_400_000 * Math.ceil(Date.now() / 86_400_000 + 1);

/** Variables that switch the log on, and the batches that were written. */
function keeping(OPERATIONS = env.OPERATIONS!) {
  const batches: RequestPage[][] = [];
  const written: Promise<void>[] = [];
  const logRequests = (batch: RequestPage[]) => {
    batches.push(batch);
    const writing = OPERATIONS.logRequests(batch);
    written.push(writing);
    return writing;
  };
  const vars = { REQUEST_LOG: "on", OPERATIONS: { logRequests } as unknown as NonNullable<Env["OPERATIONS"]> };
  return { vars, batches, done: () => Promise.allSettled(written) };
}

const readPages = async ({ id }: Pick<Account, "id">) =>
  (
    await env.DB.prepare("SELECT requests, errors, entries FROM request_page WHERE account_id = ?1 ORDER BY began_at DESC")
      .bind(id)
      .run<{ requests: number; errors: number; entries: string }>()
  ).results;

const read = (id: string, filter: RequestFilter = {}, page: { limit?: number; now?: number } = {}) =>
  readRequests(env.DB, id, filter, { limit: 20_000, now: start, ...page });

/** A request of an account, at a time. */
const request = (account: string, at: number, more: Partial<LoggedRequest> = {}): LoggedRequest => ({
  account,
  at,
  request: unique(),
  path: "GET /v1/balance",
  status: 200,
  outcome: "ok",
  ms: 3,
  key: "key_a",
  ...more,
});

test("the requests of ten seconds are written together, after their answers, without query, body or key", async () => {
  const account = await newAccount(1);
  vi.useFakeTimers({ toFake: ["Date", "setTimeout"] });
  const { vars, batches, done } = keeping();
  const ask = (path: string, more: object = {}) => call(path, { key: account.key, vars, ...more });
  const body = { model: "imgA-4", prompt: "a secret prompt", n: 4 };
  await ask("/v1/balance"); // the key is cached from here on
  const statements = [spyOn(bindings.statement(), "run"), spyOn(bindings.statement(), "first"), spyOn(bindings.database(), "batch")];
  const listed = await ask(`/v1/models?secret=${account.key}`);
  const missing = await ask("/v1/tasks/none");
  const strange = await call("/v1/balance", { key: "sk-unknown", vars });
  expect(strange.status).toBe(401);
  expect(statements.map(({ mock }) => mock.calls.length)).toEqual([0, 0, 0]);
  const refused = await ask("/v1/images/generations", { body: { ...body, n: 9 } });
  expect(batches).toEqual([]);
  await vi.advanceTimersByTimeAsync(10_000);
  await done();
  expect(batches.map((pages) => pages.map(({ requests }) => requests))).toEqual([[4]]);
  const [page, ...others] = await readPages(account);
  expect([page?.requests, page?.errors, others]).toEqual([4, 2, []]);
  for (const secret of ["secret", account.key]) expect(page!.entries).not.toContain(secret);
  const readId = ({ headers }: { headers: Headers }) => headers.get("x-request-id");
  const { entries } = await read(account.id, {}, { now: Date.now() });
  expect(entries.filter(({ path }) => path !== "GET /v1/balance")).toEqual(
    [
      {
        request: readId(refused),
        path: "POST /v1/images/generations",
        status: 400,
        outcome: "invalid_request",
        message: "n: must be at most 4",
      },
      { request: readId(missing), path: "GET /v1/tasks/none", status: 404, outcome: "task_not_found", task: "none" },
      { request: readId(listed), path: "GET /v1/models", status: 200, outcome: "ok" },
    ]
      .sort((one, other) => (one.request! < other.request! ? 1 : -1))
      .map((one) => expect.objectContaining({ ...one, key: account.keyId, ms: expect.any(Number), at: expect.any(Number) }) as object),
  );
});

test("a line has the beginning of a long error, and the id of a chat", async () => {
  const account = await newAccount();
  vi.useFakeTimers({ toFake: ["Date", "setTimeout"] });
  const { vars, done } = keeping();
  const ask = (body: object) => call("/v1/chat/completions", { key: account.key, vars, body });
  const hello = { model: "textA-1-mini", messages: [{ role: "user", content: "Hi" }] };
  const name = "y".repeat(500);
  await ask({ ...hello, [name]: 1, model: `x${name}` });
  vi.setSystemTime(Date.now() + 1);
  const chat = await ask(hello);
  await vi.advanceTimersByTimeAsync(10_000);
  await done();
  const [made, refused] = (await read(account.id, {}, { now: Date.now() })).entries;
  expect(made).toMatchObject({ status: 200, task: chat.body.id });
  expect(made).not.toHaveProperty("message");
  expect(refused?.message?.length).toBeLessThanOrEqual(160);
});

test("a batch that cannot be written is lost, and the next one is written", async () => {
  const account = await newAccount();
  vi.useFakeTimers({ toFake: ["Date", "setTimeout"] });
  const broken = keeping({ logRequests: async () => Promise.reject(new Error("gone")) } as unknown as NonNullable<Env["OPERATIONS"]>);
  const log = vi.spyOn(console, "error").mockReturnValue();
  await call("/v1/balance", { key: account.key, vars: broken.vars });
  await vi.advanceTimersByTimeAsync(10_000);
  await broken.done();
  expect(log.mock.calls.flat().join()).toContain('"unit":"requests","outcome":"lost"');
  const { vars, done } = keeping();
  await call("/v1/user/balance", { key: account.key, vars });
  await vi.advanceTimersByTimeAsync(10_000);
  await done();
  expect((await read(account.id, {}, { now: Date.now() })).entries.map(({ path }) => path)).toEqual(["GET /v1/user/balance"]);
});

test("the requests of many accounts are written by two statements, and those of an account fill its open page first", async () => {
  const ids = Array.from({ length: 30 }, unique);
  const ofAll = (at: number) => ids.map((id) => request(id, start + at, { status: at === 1 ? 404 : 200 }));
  const batch = spyOn(bindings.database(), "batch");
  await writeRequests(env.DB, [...ofAll(1), ...ofAll(2)]);
  await writeRequests(env.DB, [...ofAll(3), ...Array.from({ length: 250 }, (_, at) => request(ids[0]!, start + 10 + at))]);
  expect(batch.mock.calls.map(([statements]) => (statements as unknown[]).length)).toEqual([2, 2]);
  const sizes = async (id: string) => (await readPages({ id })).map(({ requests, errors }) => [requests, errors]);
  expect(await sizes(ids[1]!)).toEqual([[3, 1]]);
  expect(await sizes(ids[0]!)).toEqual([[51, 0], [100, 0], [102, 1]]); // prettier-ignore
});

test("requests that a gateway of the previous release passes are stored", async () => {
  const id = unique();
  await env.OPERATIONS!.logRequests([request(id, start - 2), request(id, start - 1)]);
  expect((await read(id)).entries.map(({ at }) => at)).toEqual([start - 1, start - 2]);
});

test("with REQUEST_LOG=off no request is stored", async () => {
  const account = await newAccount();
  vi.useFakeTimers({ toFake: ["Date", "setTimeout"] });
  const { vars, batches } = keeping();
  await call("/v1/balance", { key: account.key, vars: { ...vars, REQUEST_LOG: "off" } });
  await vi.advanceTimersByTimeAsync(10_000);
  expect(batches).toEqual([]);
});

test("an account's log is bounded: the newest thousands of requests are kept, in forty rows", async () => {
  const id = unique();
  const all = Array.from({ length: 9_000 }, (_, at) => request(id, start - 90_000 + 10 * at));
  for (let at = 0; at < all.length; at += 1_500) await writeRequests(env.DB, all.slice(at, at + 1_500));
  const pages = await readPages({ id });
  expect(pages.length).toBe(40);
  const { entries, hasMore } = await read(id);
  expect(entries.length).toBe(4_000);
  expect(entries.map((entry) => entry.request)).toEqual(
    all
      .slice(-4_000)
      .reverse()
      .map((entry) => entry.request),
  );
  expect(hasMore).toBe(false);
});

test("an account with few requests sees all of three days, and the checks delete older ones", async () => {
  const id = unique();
  const all = Array.from({ length: 50 }, (_, at) => request(id, start - 2 * at * hourMs));
  for (const one of all.toReversed()) await writeRequests(env.DB, [one]);
  const { entries } = await read(id);
  expect(entries.map(({ at }) => at)).toEqual(all.slice(0, 37).map(({ at }) => at));
  vi.useFakeTimers({ toFake: ["Date"], now: start });
  await runOnce();
  const kept = (await readPages({ id })).reduce((sum, { requests }) => sum + requests, 0);
  expect(kept).toBeGreaterThanOrEqual(37);
  expect(kept).toBeLessThanOrEqual(39);
  vi.setSystemTime(start + 5 * 24 * hourMs);
  await runOnce();
  expect(await readPages({ id })).toEqual([]);
});

test("pages of the list are complete and in order with any filter, also if two isolates wrote in turns", async () => {
  const id = unique();
  const statuses = [200, 200, 200, 404, 200, 503];
  const all = Array.from({ length: 1_400 }, (_, at) =>
    request(id, start - 1_000_000 + 700 * at, { status: statuses[at % 6]!, key: at % 5 ? "key_a" : "key_b" }),
  );
  // One isolate writes its half of a batch after the other isolate has written its half of the next batch.
  for (let at = 0; at < all.length + 30; at += 30) {
    const half = (from: number, isolate: number) =>
      all.slice(Math.max(0, from), Math.max(0, from + 30)).filter((_, place) => place % 2 === isolate);
    await writeRequests(env.DB, half(at, 0));
    await writeRequests(env.DB, half(at - 30, 1));
  }
  await writeRequests(env.DB, [request(unique(), start)]);
  const newest = all.toReversed();
  for (const [filter, expected] of [
    [{}, newest],
    [{ result: "refused" }, newest.filter(({ status }) => status === 404)],
    [{ result: "failed", key: "key_b" }, newest.filter(({ status, key }) => status === 503 && key === "key_b")],
    [{ text: all[7]!.request }, [all[7]!]],
    [{ text: "no such id" }, []],
  ] as [RequestFilter, LoggedRequest[]][]) {
    const found: string[] = [];
    let after: { at: number; request: string } | undefined;
    do {
      const page = await readRequests(env.DB, id, filter, { limit: 20, after, now: start });
      found.push(...page.entries.map((entry) => entry.request));
      after = page.hasMore ? page.entries.at(-1) : undefined;
    } while (after);
    expect(found, JSON.stringify(filter)).toEqual(expected.map((entry) => entry.request));
  }
});

/** Batches: the check of an input of any form and size, faults in it, and the room that inputs take. Contract 16. */

import { createExecutionContext, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Checking } from "../../../src/api/batches/checking.ts";
import type { BatchInput } from "../../../src/api/batches/input.ts";
import { BatchObject } from "../../../src/api/batches/object.ts";
import type { BatchStore, BatchTerms } from "../../../src/api/batches/state.ts";
import { sweepBatches } from "../../../src/operations/sweep-batches.ts";
import { Objects } from "../../../src/rpc/objects.ts";
import { begin, forget, line, lines, price, readResults, run, show, openBatch, wake } from "../../support/batches.ts";
import { buckets, origin, setDestination } from "../../support/bucket.ts";
import { bindings, failOnce, spyOn } from "../../support/faults.ts";
import { type Account, call, holdTime, newAccount, shortenPauses } from "../../support/gateway.ts";

shortenPauses();

beforeEach(holdTime);
afterEach(() => void vi.useRealTimers());

async function upload({ key }: Account, body: string): Promise<string> {
  const file = await call("/v1/files", { key, method: "POST", body, headers: { "content-type": "application/jsonl" } });
  expect(file.status, JSON.stringify(file.body)).toBe(201);
  return file.body.id as string;
}

test("a fault of the database during the check leaves every line with its own id and price", async () => {
  const account = await newAccount();
  buckets([origin]);
  await setDestination(account, {}, "shop");
  const requests = [line("a"), line("b", { n: 2, deliver_to: { destination: "shop" } }), line("c", { n: 3 })];
  const id = await begin(account, { requests });
  vi.restoreAllMocks();
  // The look-up of the second line's destination: the first line is checked by then.
  const statement = bindings.statement();
  const original = statement["first"]!;
  let faults = 0;
  vi.spyOn(statement, "first").mockImplementation(async function (this: unknown, ...values: unknown[]) {
    if (faults++ === 0) throw new Error("scripted fault");
    return original.apply(this, values);
  });
  await wake(id);
  expect(faults).toBe(1);
  vi.restoreAllMocks();
  const ended = await run(account, id);
  expect(ended).toMatchObject({ status: "completed", counts: { total: 3, completed: 3, failed: 0 } });
  const results = await readResults(account, id);
  expect(results.map(({ custom_id: own, cost }) => [own, cost.charged])).toEqual([
    ["a", price],
    ["b", expect.closeTo(2 * price)],
    ["c", expect.closeTo(3 * price)],
  ]);
});

const removeInput = async (id: string) => {
  const { objects } = await env.ASSETS.list({ prefix: `batches/${id}/` });
  await env.ASSETS.delete(objects.map(({ key }) => key));
};
const gone = { code: "invalid_request", message: "input_file: names a file that does not exist or has expired", param: "input_file" };

test("a batch whose input is gone before its check fails, and says so", async () => {
  const account = await newAccount();
  const id = await begin(account, { requests: lines(2) });
  await removeInput(id);
  await wake(id);
  expect(await show(account, id)).toMatchObject({ status: "failed", errors: [{ line: 1, ...gone }], counts: { total: 0 } });
});

test("if the input is gone while the batch runs, the lines that have not begun fail with that, and the others end", async () => {
  const account = await newAccount();
  const requests = [...lines(3), line("wide", { prompt: "w".repeat(900) })];
  const id = await begin(account, { requests, concurrency: 2 });
  await wake(id);
  await wake(id);
  expect(await show(account, id)).toMatchObject({ status: "in_progress", counts: { running: 2, queued: 2 } });
  await removeInput(id);
  await forget(id);
  const ended = await run(account, id, 10);
  expect(ended).toMatchObject({ status: "completed", counts: { completed: 2, failed: 2 }, cost: { charged: 2 * price, reserved: 0 } });
  const results = await readResults(account, id);
  expect(results.slice(2)).toMatchObject(["line-2", "wide"].map((custom_id) => ({ custom_id, status: "failed", error: gone })));
});

test("an input of more than 50,000 lines fails, and the error names the input and the limit", async () => {
  const bytes = new TextEncoder().encode("1\n".repeat(50_001));
  const store = { clear: () => undefined, putLine: () => undefined, putPage: () => undefined } as unknown as BatchStore;
  const input = { read: async (at: number, length: number) => bytes.subarray(at, at + length) } as BatchInput;
  const terms = { inputBytes: bytes.length, language: "en" } as BatchTerms;
  const checking = new Checking(env, createExecutionContext(), store, terms, input);
  let checked;
  while (!checked) checked = await checking.step(undefined);
  expect(checked).not.toHaveProperty("price");
  const message = "input_file: must have at most 50000 elements";
  expect(checked.faults[0]).toEqual({ line: 50_001, code: "invalid_request", message, param: "input_file" });
});

test("a step checks some hundred lines, and looks a destination up once for all of them", async () => {
  const account = await newAccount(100);
  buckets([origin]);
  await setDestination(account, {}, "shop");
  const text = lines(700)
    .map((one) => JSON.stringify(one))
    .join("\n");
  const id = await begin(account, { input_file: await upload(account, text), deliver_to: { destination: "shop" } });
  vi.restoreAllMocks();
  for (const [step, status] of ["validating", "validating", "in_progress"].entries()) {
    const asked = spyOn(bindings.statement(), "first");
    await wake(id);
    expect(asked.mock.calls.length, String(step)).toBeLessThanOrEqual(3);
    vi.restoreAllMocks();
    expect(await show(account, id)).toMatchObject({ status });
  }
  expect(await show(account, id)).toMatchObject({ counts: { total: 700 }, cost: { expected: expect.closeTo(700 * price) } });
});

test("a line longer than the check reads at once fails alone, and its page is read line by line", async () => {
  const account = await newAccount();
  const long = JSON.stringify({ ...line("long"), padding: "x".repeat(5 * 1024 * 1024) });
  const large = JSON.stringify(line("large", { metadata: { note: "y".repeat(500) } })) + " ".repeat(900 * 1024);
  const text = [JSON.stringify(line("a")), long, large, large.replace('"large"', '"larger"'), JSON.stringify(line("b"))].join("\n");
  const id = await begin(account, { input_file: await upload(account, text) });
  for (let step = 0; step < 6; step++) await wake(id);
  expect(await show(account, id)).toMatchObject({ status: "in_progress", counts: { total: 5, failed: 1 } });
  const read = vi.spyOn(bindings.bucket(), "get");
  const ended = await run(account, id);
  expect(ended).toMatchObject({ status: "completed", counts: { total: 5, completed: 4, failed: 1 } });
  const ofInput = read.mock.calls.filter(([key]) => String(key).endsWith("/input"));
  for (const [, options] of ofInput) expect((options as { range: { length: number } }).range.length).toBeLessThanOrEqual(1024 * 1024);
  const results = await readResults(account, id);
  expect(results.map(({ custom_id: own, status, error }) => [own, status, error?.param])).toEqual([
    ["a", "completed", undefined],
    [null, "failed", "line"],
    ["large", "completed", undefined],
    ["larger", "completed", undefined],
    ["b", "completed", undefined],
  ]);
});

test("inputs of kept batches count for the account's files, and no longer once a batch is removed", async () => {
  const account = await newAccount();
  const used = async () =>
    (await env.DB.prepare("SELECT bytes + padding AS bytes FROM file_space WHERE account_id = ?1")
      .bind(account.id)
      .first<number>("bytes")) ?? 0;
  const requests = lines(2);
  const id = await begin(account, { requests });
  expect(await used()).toBe(65_536);
  const file = await upload(account, requests.map((one) => JSON.stringify(one)).join("\n"));
  await env.DB.prepare("UPDATE file_space SET bytes = bytes + ?2 WHERE account_id = ?1")
    .bind(account.id, 5 * 1024 ** 3 - 3 * 65_536 + 1)
    .run();
  for (const body of [{ requests }, { input_file: file }]) {
    const refused = await call("/v1/batches", { key: account.key, body });
    expect([refused.status, refused.body.error.code]).toEqual([429, "too_many_files"]);
  }
  expect((await call("/v1/batches", { key: account.key })).body.data).toHaveLength(1);
  await env.DB.prepare("UPDATE file_space SET bytes = bytes - ?2 WHERE account_id = ?1")
    .bind(account.id, 5 * 1024 ** 3 - 3 * 65_536 + 1)
    .run();
  await run(account, id);
  vi.setSystemTime(Date.now() + 7 * 86_400_000 + 1000);
  await wake(id);
  // The file and the results, which have expired, are removed with the expired files.
  const files = await env.DB.prepare("SELECT sum(max(bytes, 65536)) AS bytes FROM file WHERE account_id = ?1")
    .bind(account.id)
    .first<number>("bytes");
  expect(await used()).toBe(files);
});

test("an account has as many open batches as it may have open tasks; each way to end makes room for another", async () => {
  const account = await newAccount();
  const vars = { MAX_OPEN_TASKS: "2" };
  const send = (body: object, key?: string) =>
    call("/v1/batches", { key: account.key, body, vars, ...(key !== undefined && { headers: { "idempotency-key": key } }) });
  const full = async () => {
    const { status, body, headers } = await send({ requests: lines(1) });
    expect([status, body.error.code, headers.get("retry-after")]).toEqual([429, "too_many_open_tasks", "5"]);
  };
  const first = (await send({ requests: lines(1) })).body.id as string;
  const requests = lines(1);
  const second = (await send({ requests }, "k")).body.id as string;
  await full();
  expect((await send({ requests }, "k")).body.id).toBe(second);
  expect((await call("/v1/batches", { key: account.key })).body.data).toHaveLength(2);
  expect(await run(account, first)).toMatchObject({ status: "completed" });
  const third = (await send({ input_file: await upload(account, "{not JSON}\n") })).body.id as string;
  await full();
  await wake(third);
  expect(await show(account, third)).toMatchObject({ status: "failed" });
  const fourth = (await send({ requests: lines(1) })).body.id as string;
  await full();
  await call(`/v1/batches/${fourth}/cancel`, { key: account.key, method: "POST" });
  expect(await run(account, fourth)).toMatchObject({ status: "cancelled" });
  expect((await send({ requests: lines(1) })).status).toBe(201);
  await full();
});

test("the input of failed lines is read in parts that a call between Workers can carry, however long the lines are", async () => {
  const account = await newAccount();
  const long = `漢${"x".repeat(1024 * 1024 - 200)}`;
  const text = lines(17, { long })
    .map((one) => `${JSON.stringify(one)}\n`)
    .join("");
  const id = await begin(account, { input_file: await upload(account, text), max_cost: 0 });
  expect(await run(account, id)).toMatchObject({ status: "completed", counts: { failed: 17 } });
  let read = "";
  for (let from: number | undefined = 0; from !== undefined;) {
    const part = await openBatch(id).failedInput(account.id, undefined, from);
    read += part!.text;
    from = part!.next;
  }
  expect(read === text).toBe(true);
}, 60_000);

test.each(["validating", "in_progress"])(
  "a fault that lasts is met less and less often, and the batch goes on after it: %s",
  async (status) => {
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    const account = await newAccount();
    const id = await begin(account, { requests: lines(3) });
    if (status === "in_progress") await wake(id);
    const bucket = bindings.bucket();
    const original = bucket["get"]!;
    vi.spyOn(bucket, "get").mockImplementation(async function (this: unknown, ...values: unknown[]) {
      if (String(values[0]).startsWith(`batches/${id}/`)) throw new Error("scripted fault");
      return original.apply(this, values);
    });
    let wakes = 0;
    for (const until = Date.now() + 600_000; Date.now() < until; wakes++) {
      await wake(id);
      await forget(id);
      const next = await runInDurableObject(openBatch(id), (_, { storage }) => storage.getAlarm());
      vi.setSystemTime(Math.max(Date.now() + 1, next ?? 0));
    }
    expect(await show(account, id)).toMatchObject({ status });
    expect(wakes).toBeLessThan(60);
    vi.restoreAllMocks();
    expect(await run(account, id)).toMatchObject({ status: "completed", counts: { completed: 3 } });
  },
);

test("a batch whose alarm the platform has dropped goes on when it is looked at", async () => {
  const account = await newAccount();
  const id = await begin(account, { requests: lines(2) });
  for (const status of ["validating", "in_progress", "completed"]) {
    await runInDurableObject(openBatch(id), (_, { storage }) => storage.deleteAlarm());
    await forget(id);
    expect(await show(account, id)).toMatchObject({ status });
    expect(await runInDurableObject(openBatch(id), (_, { storage }) => storage.getAlarm())).toBeLessThanOrEqual(Date.now());
    await (status === "validating" ? wake(id) : run(account, id));
  }
});

test("what a crash leaves of a batch that never began is removed after an hour", async () => {
  const account = await newAccount();
  // The object is never made: as after a crash of the Worker. Nothing of the request's own removal is done, either.
  for (const method of ["delete", "list"]) failOnce(bindings.bucket(), method, false, 20);
  failOnce(BatchObject.prototype as never, "create", false, 20);
  expect((await call("/v1/batches", { key: account.key, body: { requests: lines(1) } })).status).toBe(500);
  vi.restoreAllMocks();
  const row = await env.DB.prepare("SELECT id FROM batch WHERE account_id = ?1").bind(account.id).first<string>("id");
  expect((await env.ASSETS.list({ prefix: `batches/${row}/` })).objects).toHaveLength(1);
  expect((await call("/v1/batches", { key: account.key })).body.data).toEqual([]);
  const kept = await begin(account, { requests: lines(1) });
  const objects = new Objects(env);
  const hasBatch = async (accountId: string, id: string) => {
    if (id === "batch_silent") throw new Error("scripted fault");
    return objects.hasBatch(accountId, id);
  };
  const sweep = () => sweepBatches(env, { hasBatch }, Date.now());
  await sweep();
  expect((await env.ASSETS.list({ prefix: `batches/${row}/` })).objects).toHaveLength(1);
  vi.setSystemTime(Date.now() + 3_700_000);
  await env.DB.prepare("UPDATE batch SET begins_at = created_at WHERE id = ?1").bind(kept).run();
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  await env.DB.prepare("INSERT INTO batch (account_id, id, created_at, begins_at) VALUES ('acc_silent', 'batch_silent', 1, 1)").run();
  await sweep();
  expect((await env.ASSETS.list({ prefix: `batches/${row}/` })).objects).toEqual([]);
  const { results } = await env.DB.prepare("SELECT id, begins_at FROM batch WHERE account_id = ?1").bind(account.id).run();
  expect(results).toEqual([{ id: kept, begins_at: null }]);
  expect(await openBatch(kept).view(account.id)).not.toBeNull();
  await env.DB.prepare("DELETE FROM batch WHERE id = 'batch_silent'").run();
});

test("batches that a restored database shows as open, though they have ended or are removed, do not count for longer than a day", async () => {
  const account = await newAccount();
  const [ended, removed, open] = [
    await begin(account, { requests: lines(1) }),
    await begin(account, { requests: lines(1) }),
    await begin(account, { requests: lines(1) }),
  ];
  await run(account, ended);
  await openBatch(removed).erase(account.id);
  await env.DB.batch([
    env.DB.prepare("UPDATE batch SET is_open = 1 WHERE id = ?1").bind(ended),
    env.DB.prepare("INSERT INTO batch (account_id, id, created_at, is_open) VALUES (?1, ?2, ?3, 1)").bind(account.id, removed, Date.now()),
  ]);
  vi.setSystemTime(Date.now() + 86_400_001);
  await sweepBatches(env, new Objects(env), Date.now());
  const { results } = await env.DB.prepare("SELECT id FROM batch WHERE account_id = ?1 AND is_open = 1").bind(account.id).run();
  expect(results).toEqual([{ id: open }]);
  expect((await call("/v1/batches", { key: account.key })).body.data).toHaveLength(2);
});

test("what is left of a batch is not removed while a repeat of its request begins it", async () => {
  const account = await newAccount();
  const send = () => call("/v1/batches", { key: account.key, body: { requests: lines(2) }, headers: { "idempotency-key": "k" } });
  const bucket = bindings.bucket();
  const original = bucket["put"]!;
  failOnce(bucket, "put", false, 20);
  expect((await send()).status).toBe(500);
  vi.restoreAllMocks();
  vi.setSystemTime(Date.now() + 3_700_000);
  vi.spyOn(bucket, "put").mockImplementationOnce(async function (this: unknown, ...values: unknown[]) {
    const stored = await original.apply(this, values);
    await sweepBatches(env, new Objects(env), Date.now());
    return stored;
  });
  const { status, body } = await send();
  expect(status).toBe(201);
  expect(await run(account, body.id)).toMatchObject({ status: "completed", counts: { total: 2, completed: 2 } });
  expect((await call("/v1/batches", { key: account.key })).body.data).toHaveLength(1);
});

/** The platform operations of a task: object calls, D1 rows, messages. Counted at the bindings, where an alarm of another file's task would count too. */

import "../support/alone.ts";
import { env } from "cloudflare:workers";
import { beforeAll, expect, test, vi } from "vitest";
import { TaskObject } from "../../src/tasks/object/task-object.ts";
import { WalletObject } from "../../src/wallet/object.ts";
import { bindings, spyOn } from "../support/faults.ts";
import {
  readBalance,
  call,
  chatsSettled,
  complete,
  deliver,
  finish,
  holdTime,
  newAccount,
  pass,
  submit,
  unique,
  upstreamCalls,
  wakeWallet,
  image,
} from "../support/gateway.ts";

holdTime();

interface Written {
  meta: { rows_written: number };
}

/** Rows that D1 has written since then, in single statements and batches. */
function rowsWritten(): () => Promise<number> {
  const single = spyOn(bindings.statement(), "run").mockClear();
  const batches = spyOn(bindings.database(), "batch").mockClear();
  return async () => {
    const results = [
      ...(await Promise.all(single.mock.results.map((result) => result.value as Promise<Written>))),
      ...(await Promise.all(batches.mock.results.map((result) => result.value as Promise<Written[]>))).flat(),
    ];
    return results.reduce((sum, { meta }) => sum + meta.rows_written, 0);
  };
}

// Typical times and counts of calls, which an isolate reads or writes once a minute for many tasks and chats, are not part of the cost of one.
beforeAll(async () => {
  const account = await newAccount();
  await complete(account, "/v1/images/generations", image());
  await call("/v1/chat/completions", { key: account.key, body: { model: "textA-1", messages: [{ role: "user", content: unique() }] } });
});

/** The classes of the objects that are called. */
const objectCalls = () => [spyOn(bindings.namespace(), "get").mockClear(), spyOn(bindings.namespace(), "getByName").mockClear()];

/** An account whose key is cached, and whose wallet has the unused grant of tasks with this many images. That of an only task goes back with its entry. */
async function spender(...images: number[]) {
  const account = await newAccount();
  for (const n of images) {
    const id = await submit(account, "/v1/images/generations", { ...image(), n });
    await call(`/v1/tasks/${id}/cancel`, { key: account.key, method: "POST" });
  }
  return account;
}

test("a submission: two object calls, no D1 query, one message", async () => {
  const account = await spender(4);
  const stubs = objectCalls();
  const creates = vi.spyOn(TaskObject.prototype, "create");
  const reserves = vi.spyOn(WalletObject.prototype, "reserve");
  const sends = spyOn(bindings.queue(), "send").mockClear();
  const statements = spyOn(bindings.database(), "prepare").mockClear();
  await submit(account, "/v1/images/generations", image());
  expect(stubs.flatMap(({ mock }) => mock.calls)).toHaveLength(2);
  expect(creates).toHaveBeenCalledTimes(1);
  expect(reserves).toHaveBeenCalledTimes(1);
  expect(sends).toHaveBeenCalledTimes(1);
  expect(statements).not.toHaveBeenCalled();
});

test("a whole task: no D1 query until its wallet writes, at most two messages", async () => {
  const account = await spender(4);
  await wakeWallet(account);
  const sends = spyOn(bindings.queue(), "send").mockClear();
  const id = await submit(account, "/v1/images/generations", image());
  const rows = rowsWritten();
  await finish(account, id);
  expect(await rows()).toBe(0);
  expect(sends).toHaveBeenCalledTimes(2);
  await wakeWallet(account);
  // Its entry with three indexes (one of them for the list of events), the sums of its day and, once per batch, of its five minutes, the
  // account's wallet and the key's wallet; and the fingerprint of its file.
  expect(await rows()).toBe(9);
});

test("a chat: two object calls, no D1 query until its wallet writes", async () => {
  const account = await spender(1, 4);
  const wallet = env.WALLETS.getByName(account.id);
  await wakeWallet(account);
  const rows = rowsWritten();
  const stubs = objectCalls();
  const statements = spyOn(bindings.database(), "prepare").mockClear();
  const body = { model: "textA-1", messages: [{ role: "user", content: unique() }] };
  expect((await call("/v1/chat/completions", { key: account.key, body })).status).toBe(200);
  await chatsSettled(account, wallet);
  expect(stubs.flatMap(({ mock }) => mock.calls)).toHaveLength(2);
  expect(statements).not.toHaveBeenCalled();
  await wakeWallet(account);
  // A chat is not in the list of events; one of the rows is written once per batch.
  expect(await rows()).toBe(6);
});

test("a status query: one object call, no writes, no other calls", async () => {
  const account = await newAccount();
  const prompt = unique();
  const id = await submit(account, "/v1/images/generations", { model: "imgA-4", prompt });
  await deliver(id);
  const asked = await upstreamCalls(prompt);
  const stubs = spyOn(bindings.namespace(), "get").mockClear();
  const reads = vi.spyOn(TaskObject.prototype, "read");
  const statements = spyOn(bindings.database(), "prepare").mockClear();
  const puts = spyOn(bindings.bucket(), "put").mockClear();
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).body.data.status).toBe("in_progress");
  expect(stubs).toHaveBeenCalledTimes(1);
  expect(reads).toHaveBeenCalledTimes(1);
  expect(statements).not.toHaveBeenCalled();
  expect(await upstreamCalls(prompt)).toEqual(asked);
  expect(puts).not.toHaveBeenCalled();
});

test("the second status query of a final task is answered without its object", async () => {
  const account = await newAccount();
  const id = await submit(account, "/v1/images/generations", image());
  const first = await finish(account, id);
  const reads = vi.spyOn(TaskObject.prototype, "read");
  const again = await call(`/v1/tasks/${id}`, { key: account.key });
  expect(again.body).toEqual(first.body);
  expect(reads).not.toHaveBeenCalled();
});

test("at the limit of a quota, with every message delivered twice, exactly as much as fits is accepted", async () => {
  const account = await newAccount(0.3);
  const answers = await Promise.all(Array.from({ length: 50 }, () => call("/v1/images/generations", { key: account.key, body: image() })));
  const accepted = answers.filter(({ status }) => status === 200).map(({ body }) => body.id as string);
  expect(accepted).toHaveLength(10);
  expect(answers.filter(({ status }) => status === 402)).toHaveLength(40);
  expect(await readBalance(account)).toEqual({ quota: 0.3, reserved: 0.3, used: 0, remaining: 0 });
  const [cancelled, ...others] = accepted;
  await call(`/v1/tasks/${cancelled}/cancel`, { key: account.key, method: "POST" });
  await Promise.all(
    others.map(async (id) => {
      await Promise.all([deliver(id), deliver(id)]);
      await Promise.all([pass(id, 1), pass(id, 1)]);
      await Promise.all([deliver(id), deliver(id)]);
      await finish(account, id);
      await Promise.all([deliver(id), pass(id, 1), pass(id, 1)]);
    }),
  );
  expect(await readBalance(account)).toEqual({ quota: 0.3, reserved: 0, used: 0.27, remaining: 0.03 });
});

test("the key's own quota limits like the account's", async () => {
  const account = await newAccount(null, 0.05);
  expect((await call("/v1/images/generations", { key: account.key, body: image() })).status).toBe(200);
  expect((await call("/v1/images/generations", { key: account.key, body: image() })).status).toBe(402);
  expect((await call("/v1/balance", { key: account.key })).body).toEqual({
    success: true,
    remain_balance: 0.02,
    used_balance: 0,
    unlimited_quota: false,
  });
});

test("a submission with a reference: two more rows and one more statement", async () => {
  const account = await spender(4);
  const rows = rowsWritten();
  const statements = spyOn(bindings.database(), "prepare").mockClear();
  await submit(account, "/v1/images/generations", { ...image(), reference: "order 7" });
  expect(statements).toHaveBeenCalledTimes(1);
  expect(await rows()).toBe(2);
});

test("the list of events costs one row for each batch of settlements, and reading it none", async () => {
  const account = await spender(4);
  await wakeWallet(account);
  const written = async (count: number) => {
    await Promise.all(Array.from({ length: count }, async () => finish(account, await submit(account, "/v1/images/generations", image()))));
    const rows = rowsWritten();
    await wakeWallet(account);
    return rows();
  };
  // The ledger's entry with its two indexes, and the fingerprint of its file: the account's, the key's and the sums' rows and the page are written once.
  const one = await written(1);
  expect((await written(4)) - one).toBe(3 * (3 + 1));
  const rows = rowsWritten();
  expect((await call("/v1/events", { key: account.key })).body.data).toHaveLength(5 + 1);
  expect(await rows()).toBe(0);
});

test("a dry run: reads the wallet's balance, no D1 query, no message", async () => {
  const account = await newAccount();
  await call("/v1/balance", { key: account.key });
  const rows = rowsWritten();
  const stubs = spyOn(bindings.namespace(), "get").mockClear();
  const sends = spyOn(bindings.queue(), "send").mockClear();
  const statements = spyOn(bindings.database(), "prepare").mockClear();
  expect((await call("/v1/images/generations?dry_run=true", { key: account.key, body: image() })).status).toBe(200);
  expect(statements).not.toHaveBeenCalled();
  expect(stubs).not.toHaveBeenCalled();
  expect(sends).not.toHaveBeenCalled();
  expect(await rows()).toBe(0);
});

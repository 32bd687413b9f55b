/** `/admin/codes`, and redeeming: each code is credited once, to one account, and never after it was revoked or has expired. */

import "../../support/alone.ts";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { redeemCode } from "../../../src/wallet/codes.ts";
import { byTest } from "../../support/actor.ts";
import { backUp, restore } from "../../operations/backup.ts";
import { bindings } from "../../support/faults.ts";
import { type Account, asAdmin, call, holdTime, newAccount } from "../../support/gateway.ts";

holdTime();

interface Series {
  id: string;
  codes: { id: string; code: string }[];
}

async function makeCodes(body: object = {}): Promise<Series> {
  const made = await asAdmin("/codes", { body: { count: 1, amount: 25, ...body } });
  expect(made.status).toBe(201);
  return made.body;
}
const listSeries = async ({ id }: Series) => (await asAdmin(`/codes?series=${id}&limit=100`)).body.data as { id: string; state: string }[];
const quota = async ({ id }: Account) => (await asAdmin(`/accounts/${id}`)).body.quota;
const redeem = (account: Account, code: string) => redeemCode(env, account.id, code, byTest);
const remove = (id: string) => asAdmin(`/codes/${id}`, { method: "DELETE" });

test("codes are made in series, shown once, and stored as hashes", async () => {
  const series = await makeCodes({ count: 500, note: "Autumn fair" });
  expect(new Set(series.codes.map(({ code }) => code)).size).toBe(500);
  const { results } = await env.DB.prepare("SELECT * FROM code WHERE series = ?1").bind(series.id).run();
  expect(results).toHaveLength(500);
  const stored = JSON.stringify(results);
  expect(series.codes.filter(({ code }) => stored.includes(code) || stored.includes(code.replaceAll("-", "")))).toEqual([]);
  const page = await asAdmin(`/codes?series=${series.id}&limit=2`);
  expect(page.body).toMatchObject({ has_more: true, data: [{ amount: 25, note: "Autumn fair", state: "open" }, {}] });
  const next = await asAdmin(`/codes?series=${series.id}&limit=2&after=${page.body.data[1].id}`);
  expect(next.body.data[0].id > page.body.data[1].id).toBe(true);
});

test.each([
  [{ count: 0 }, "count"],
  [{ count: 501 }, "count"],
  [{ amount: 0 }, "amount"],
  [{ amount: 0.0000001 }, "amount"],
  [{ expires_at: 1 }, "expires_at"],
  [{ note: "a".repeat(201) }, "note"],
])("%o is refused, and nothing is made", async (fields, param) => {
  const before = await env.DB.prepare("SELECT count(*) AS n FROM code").first("n");
  const answer = await asAdmin("/codes", { body: { count: 1, amount: 1, ...fields } });
  expect([answer.status, answer.body.error.param]).toEqual([400, param]);
  expect(await env.DB.prepare("SELECT count(*) AS n FROM code").first("n")).toBe(before);
});

test("the refusal of an amount says what is allowed there", async () => {
  const account = await newAccount();
  const quota = (body: object) => asAdmin(`/accounts/${account.id}`, { method: "PATCH", body });
  for (const [answer, allowed] of [
    [await asAdmin("/codes", { body: { count: 1, amount: 0 } }), "a number from 0.000001 to 1000000000"],
    [await quota({ add: -2e9 }), "a number from -1000000000 to 1000000000"],
    [await quota({ budget: { amount: -1, window: "day" } }), "a number from 0 to 1000000000"],
    [await quota({ quota: -1 }), "null or a number from 0 to 1000000000"],
  ] as const)
    expect([answer.status, answer.body.error.message]).toEqual([400, expect.stringContaining(`must be ${allowed}`)]);
});

test("strangers neither make nor list codes", async () => {
  for (const [method, path] of [
    ["POST", "/admin/codes"],
    ["GET", "/admin/codes"],
    ["DELETE", "/admin/codes/code_1"],
  ] as const)
    expect((await call(path, { method })).status).toBe(401);
});

test("a code is redeemed once, by one account, however it is typed", async () => {
  const [one, two] = [await newAccount(1), await newAccount(1)];
  const series = await makeCodes({ note: "Welcome" });
  const { code } = series.codes[0]!;
  expect(await redeem(one, ` ${code.toLowerCase().replaceAll("-", " ").replaceAll("0", "o").replaceAll("1", "l")}`)).toEqual({
    state: "redeemed",
    amount: 25_000_000,
  });
  expect([await redeem(one, code), await redeem(two, code)]).toEqual([{ state: "used" }, { state: "used" }]);
  expect([await quota(one), await quota(two)]).toEqual([26, 1]);
  expect((await asAdmin(`/codes?series=${series.id}`)).body.data).toMatchObject([
    { state: "redeemed", redeemed_by: one.id, redeemed_at: expect.any(Number) },
  ]);
  const { results } = await env.DB.prepare("SELECT actor_id AS actor, after FROM audit_log WHERE account_id = ?1 AND act = 'code_redeemed'")
    .bind(one.id)
    .run();
  expect(results, "one act").toEqual([{ actor: "test", after: '{"amount":25}' }]);
  expect((await remove(series.codes[0]!.id)).body.error.code).toBe("code_redeemed");
});

test("accounts that redeem a code in the same moment: one of them gets it", async () => {
  const accounts = await Promise.all([1, 2, 3].map(() => newAccount(1)));
  const { code } = (await makeCodes()).codes[0]!;
  const states = (await Promise.all(accounts.map((account) => redeem(account, code)))).map(({ state }) => state);
  expect(states.toSorted()).toEqual(["redeemed", "used", "used"]);
  expect((await Promise.all(accounts.map(quota))).toSorted((a, b) => a - b)).toEqual([1, 1, 26]);
});

test("an unknown, mistyped, revoked or expired code credits nothing", async () => {
  const account = await newAccount(1);
  const series = await makeCodes({ count: 3, expires_at: Math.floor(Date.now() / 1000) + 100 });
  const [first, second, third] = series.codes as [{ id: string; code: string }, { id: string; code: string }, { id: string; code: string }];
  for (const typed of ["", "hello", "AAAAA-AAAAA-AAAAA-AAAAA", `${first.code}A`, "U".repeat(20)])
    expect(await redeem(account, typed)).toEqual({ state: "unknown" });
  expect((await remove(first.id)).status).toBe(204);
  expect(await redeem(account, first.code)).toEqual({ state: "unknown" });
  expect(await redeem(account, second.code)).toMatchObject({ state: "redeemed" });
  expect((await remove(series.id)).status, "the rest of the series").toBe(204);
  expect((await listSeries(series)).map(({ state }) => state).toSorted()).toEqual(["redeemed", "revoked", "revoked"]);
  expect(await redeem(account, third.code)).toEqual({ state: "unknown" });
  const { code } = (await makeCodes({ expires_at: Math.floor(Date.now() / 1000) + 100 })).codes[0]!;
  vi.setSystemTime(Date.now() + 101_000);
  expect(await redeem(account, code)).toEqual({ state: "expired" });
  expect(await quota(account)).toBe(26);
  expect((await remove("code_none")).status).toBe(404);
});

/** The calls of a redemption, in their order, each failing before or after its effect. */
const steps = (
  [
    ["bucket", "put", 1],
    ["statement", "run", 1],
    ["database", "batch", 1],
    ["statement", "run", 2],
  ] as const
).flatMap(([target, method, n]) => [false, true].map((isDone) => [target, method, n, isDone] as const));

/** The `n`th call of the method fails, with `isDone` after its effect. Returns how many were made. */
function failAt(target: "bucket" | "statement" | "database", method: string, n: number, isDone: boolean): () => number {
  const original = bindings[target]()[method]!;
  let calls = 0;
  vi.spyOn(bindings[target](), method).mockImplementation(async function (this: unknown, ...values: unknown[]) {
    if (++calls !== n) return original.apply(this, values);
    if (isDone) await original.apply(this, values);
    throw new Error("scripted fault");
  });
  return () => calls;
}

test.each(steps)("a fault in %s.%s %i (%s: after its effect): the repeat credits exactly once", async (target, method, n, isDone) => {
  const [account, other] = [await newAccount(1), await newAccount(1)];
  const series = await makeCodes({ expires_at: Math.floor(Date.now() / 1000) + 100 });
  const { id, code } = series.codes[0]!;
  const calls = failAt(target, method, n, isDone);
  await expect(redeem(account, code)).rejects.toThrow("scripted fault");
  expect(calls()).toBe(n);
  vi.restoreAllMocks();
  const isClaimed = (await env.ASSETS.head(`codes/${id}.json`)) !== null;
  if (isClaimed) {
    expect(await redeem(other, code)).toEqual({ state: "used" });
    // The code has expired meanwhile, but it was claimed before.
    vi.setSystemTime(Date.now() + 101_000);
  }
  const isNoted = n === 2 && isDone;
  expect(await redeem(account, code)).toMatchObject({ state: isNoted ? "used" : "redeemed" });
  expect([await quota(account), await quota(other)]).toEqual([26, 1]);
  expect(await redeem(account, code)).toEqual({ state: "used" });
});

test("a restored database neither gives a code a second time, to anybody, nor makes a revoked one valid", async () => {
  const [one, two] = [await newAccount(1), await newAccount(1)];
  const [first, second] = (await makeCodes({ count: 2 })).codes as [{ id: string; code: string }, { id: string; code: string }];
  const backup = await backUp();
  await redeem(one, first.code);
  await remove(second.id);
  await restore(backup);
  vi.setSystemTime(Date.now() + 3_600_000);
  expect(await redeem(two, first.code)).toEqual({ state: "used" });
  expect(await redeem(one, first.code)).toEqual({ state: "used" });
  expect(await redeem(two, second.code)).toEqual({ state: "unknown" });
  expect([await quota(one), await quota(two)]).toEqual([26, 1]);
});

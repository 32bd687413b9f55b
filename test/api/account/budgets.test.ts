/** Budgets of keys and accounts: a day's or month's limit that reservations count against. Contract 4. */

import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { type Account, asAdmin, readBalance, call, complete, finish, holdTime, newAccount, submit, image } from "../../support/gateway.ts";
import { crashWallet } from "../../wallet/support.ts";

holdTime();

const images = "/v1/images/generations";
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** The first millisecond of the next day, UTC. */
const nextDay = () => Math.floor(Date.now() / dayMs + 1) * dayMs;

/** The remaining amount of the account's budget or its key's (`id`), and the end of its window; undefined without a budget. */
async function budgetLeft(account: Account, id: string) {
  const { [id]: balance } = await env.WALLETS.getByName(account.id).balances(id === account.id ? [] : [id]);
  if (!balance?.budget) return undefined;
  const { spent, ...budget } = balance.budget;
  return { ...budget, left: Math.max(0, budget.amount - spent) };
}

test("a key's daily budget includes held amounts; above it requests are 402 until midnight, and the next day starts at zero", async () => {
  vi.setSystemTime(nextDay() + hourMs);
  const account = await newAccount();
  const left = () => budgetLeft(account, account.keyId);
  await complete(account, images, image());
  expect(await left()).toBeUndefined();
  await env.WALLETS.getByName(account.id).changeBudget(account.keyId, { amount: 100_000, window: "day" });
  expect(await left()).toEqual({ amount: 100_000, window: "day", left: 70_000, until: nextDay() });
  const open = await submit(account, images, image({ n: 2 }));
  expect(await left()).toMatchObject({ left: 10_000 });
  for (const [path, body] of [
    [images, image()],
    [`${images}?dry_run=true`, image()],
    ["/v1/chat/completions", { model: "textA-1", messages: [{ role: "user", content: "hi" }], max_tokens: 2_000 }],
  ] as const) {
    const refused = await call(path, { key: account.key, body });
    expect(refused).toMatchObject({ status: 402, body: { error: { type: "insufficient_quota", code: "budget_exceeded" } } });
    expect(Number(refused.headers.get("retry-after"))).toBe((nextDay() - Date.now()) / 1000);
  }
  expect(await readBalance(account)).toMatchObject({ reserved: 0.06, used: 0.03 });
  await finish(account, open);
  await crashWallet(account);
  expect(await left()).toMatchObject({ left: 10_000 });
  vi.setSystemTime(nextDay());
  expect(await left()).toMatchObject({ left: 100_000, until: nextDay() });
  await submit(account, images, image({ n: 3 }));
  expect((await call(images, { key: account.key, body: image() })).status).toBe(402);
});

test("an amount that a task returns may be spent again, and a removed budget limits nothing", async () => {
  const account = await newAccount();
  await env.WALLETS.getByName(account.id).changeBudget(account.keyId, { amount: 30_000, window: "month" });
  const id = await submit(account, images, image());
  expect((await call(images, { key: account.key, body: image() })).status).toBe(402);
  await call(`/v1/tasks/${id}/cancel`, { key: account.key, method: "POST" });
  await submit(account, images, image());
  expect((await call(images, { key: account.key, body: image() })).body.error.code).toBe("budget_exceeded");
  await env.WALLETS.getByName(account.id).changeBudget(account.keyId, null);
  await submit(account, images, image());
});

test("an account's monthly budget limits all its keys, and an object without memory reads the charges from D1's daily sums", async () => {
  const now = new Date();
  vi.setSystemTime(Date.UTC(now.getUTCFullYear() + 1, 2, 10, 12));
  const account = await newAccount();
  await complete(account, images, image({ n: 2 }));
  vi.setSystemTime(Date.now() + 5 * dayMs);
  await env.WALLETS.getByName(account.id).changeBudget(account.id, { amount: 80_000, window: "month" });
  const until = Date.UTC(now.getUTCFullYear() + 1, 3, 1);
  expect(await budgetLeft(account, account.id)).toEqual({ amount: 80_000, window: "month", left: 20_000, until });
  const refused = await call(images, { key: account.key, body: image() });
  expect(refused).toMatchObject({ status: 402, body: { error: { code: "budget_exceeded" } } });
  expect(Number(refused.headers.get("retry-after"))).toBe((until - Date.now()) / 1000);
  vi.setSystemTime(until);
  await submit(account, images, image());
});

test("the operator sets and removes budgets, and a key shows what remains of its own", async () => {
  vi.setSystemTime(nextDay() + hourMs);
  const account = await newAccount();
  const budget = { amount: 0.05, window: "day" };
  const made = await asAdmin(`/accounts/${account.id}/keys`, { body: { name: "narrow", quota: null, budget } });
  const shown = { ...budget, spent: 0, remaining: 0.05, ends_at: nextDay() / 1000 };
  expect(made).toMatchObject({ status: 201, body: { budget: shown } });
  const { id, key } = made.body;
  await submit({ ...account, key }, images, image());
  expect((await call("/v1/key", { key })).body.budget).toEqual({ ...shown, spent: 0.03, remaining: 0.02 });
  expect((await call(images, { key, body: image() })).body.error.code).toBe("budget_exceeded");
  const changed = await asAdmin(`/keys/${id}`, { method: "PATCH", body: { budget: { amount: 0.06, window: "month" } } });
  expect(changed.body.budget).toMatchObject({ amount: 0.06, window: "month", spent: 0.03 });
  await submit({ ...account, key }, images, image());
  expect((await asAdmin(`/keys/${id}`, { method: "PATCH", body: { budget: null } })).body.budget).toBeNull();
  await submit({ ...account, key }, images, image());
  // The account's own budget limits all of its keys.
  const whole = await asAdmin(`/accounts/${account.id}`, { method: "PATCH", body: { budget: { amount: 0.1, window: "month" } } });
  expect(whole.body.budget).toMatchObject({ amount: 0.1, spent: 0.09, remaining: 0.01 });
  for (const one of [key, account.key]) expect((await call(images, { key: one, body: image() })).body.error.code).toBe("budget_exceeded");
  // The budget is lower than the amount spent: nothing remains.
  const less = await asAdmin(`/keys/${id}`, { method: "PATCH", body: { budget: { amount: 0.01, window: "day" } } });
  expect(less.body.budget).toMatchObject({ amount: 0.01, spent: 0.09, remaining: 0 });
  for (const wrong of [{ amount: -1, window: "day" }, { amount: 1, window: "week" }, { amount: 1 }, 5])
    expect((await asAdmin(`/keys/${id}`, { method: "PATCH", body: { budget: wrong } })).status).toBe(400);
});

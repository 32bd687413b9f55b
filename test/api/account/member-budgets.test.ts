/** A member's budget: it counts over all of the member's keys, and is hard, whatever runs in parallel, crashes or is restored. Contract 18. */

import "../../support/alone.ts";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import type { Budget } from "../../../src/db/grants.ts";
import { type Account, asAdmin, call, finish, holdTime, newAccount, submit, unique, wakeWallet } from "../../support/gateway.ts";
import { crashWallet } from "../../wallet/support.ts";
import { backUp, restore } from "../../operations/backup.ts";

holdTime();

const images = "/v1/images/generations";
/** An image costs 0.03. */
const image = (n = 1) => ({ model: "imgA-4", prompt: unique(), n });
const try_ = async (key: string, n = 1) => (await call(images, { key, body: image(n) })).status;
const month = (amount: number): Budget => ({ amount, window: "month" });

interface Member {
  id: string;
  keys: (Account & { key: string })[];
}

/** A member of the account with this many keys. */
async function newMember(account: Account, keys = 2): Promise<Member> {
  const user = `user_${unique()}`;
  const id = `mem_${unique()}`;
  const now = new Date().toISOString();
  const made: Member["keys"] = [];
  for (let n = 0; n < keys; n++) {
    const { body } = await asAdmin(`/accounts/${account.id}/keys`, { body: { name: `key ${n}`, quota: null } });
    made.push({ id: account.id, key: body.key, keyId: body.id });
  }
  await env.DB.batch([
    env.DB.prepare("INSERT INTO auth_user VALUES (?1, 'Paul', ?2, 1, NULL, ?3, ?3)").bind(user, `${user}@example.com`, now),
    env.DB.prepare("INSERT INTO membership (id, account_id, user_id, role, created_at) VALUES (?1, ?2, ?3, 'member', 1)").bind(
      id,
      account.id,
      user,
    ),
    env.DB.prepare("INSERT INTO wallet (id) VALUES (?1)").bind(id),
    ...made.map(({ keyId }) => env.DB.prepare("UPDATE api_key SET owner_id = ?2 WHERE id = ?1").bind(keyId, user)),
  ]);
  return { id, keys: made };
}

const setBudget = (account: Account, { id }: Member, budget: Budget | null) => env.WALLETS.getByName(account.id).changeBudget(id, budget);
const spent = async (account: Account, { id }: Member) => (await env.WALLETS.getByName(account.id).balances([id]))[id]?.budget?.spent;

test("a member's budget counts over all of the member's keys, and no other key counts for it", async () => {
  const account = await newAccount();
  const paul = await newMember(account);
  await setBudget(account, paul, month(90_000));
  const [first, second] = paul.keys.map(({ key }) => key) as [string, string];
  expect(await try_(first, 2)).toBe(200);
  expect(await try_(account.key, 4)).toBe(200);
  expect(await spent(account, paul)).toBe(60_000);
  expect(await try_(second)).toBe(200);
  for (const key of [first, second]) {
    const refused = await call(images, { key, body: image() });
    expect(refused).toMatchObject({ status: 402, body: { error: { code: "budget_exceeded" } } });
    expect((await call(`${images}?dry_run=true`, { key, body: image() })).status).toBe(402);
    const chat = { model: "textA-1", messages: [{ role: "user", content: "hi" }], max_tokens: 2_000 };
    expect((await call("/v1/chat/completions", { key, body: chat })).status).toBe(402);
  }
  expect(await try_(account.key)).toBe(200);
  await setBudget(account, paul, null);
  expect(await try_(first)).toBe(200);
});

test("requests of all keys at the same time never exceed it", async () => {
  const account = await newAccount();
  const paul = await newMember(account, 4);
  await setBudget(account, paul, month(150_000));
  const answers = await Promise.all(Array.from({ length: 24 }, (_, n) => try_(paul.keys[n % 4]!.key)));
  expect(answers.filter((status) => status === 200)).toHaveLength(5);
  expect(answers.filter((status) => status === 402)).toHaveLength(19);
  expect(await spent(account, paul)).toBe(150_000);
});

test("what was held and charged before the budget was set counts, also of a key that is gone, and after a crash", async () => {
  const account = await newAccount();
  const paul = await newMember(account);
  const [first, second] = paul.keys as [Account, Account];
  const done = await submit(first, images, image());
  await finish(first, done);
  await wakeWallet(account);
  await asAdmin(`/keys/${first.keyId}`, { method: "DELETE" });
  const open = await submit(second, images, image());
  await setBudget(account, paul, month(90_000));
  expect(await spent(account, paul)).toBe(60_000);
  await crashWallet(account);
  expect(await spent(account, paul)).toBe(60_000);
  expect(await try_(second.key)).toBe(200);
  expect(await try_(second.key)).toBe(402);
  // What a task returns may be spent again.
  expect((await call(`/v1/tasks/${open}/cancel`, { key: second.key, method: "POST" })).status).toBe(200);
  expect(await try_(second.key)).toBe(200);
  expect(await try_(second.key)).toBe(402);
  await wakeWallet(account);
  await crashWallet(account);
  expect(await spent(account, paul)).toBe(90_000);
});

test("an object that knew the keys before they had an owner learns it when the budget is set", async () => {
  const account = await newAccount();
  const { body } = await asAdmin(`/accounts/${account.id}/keys`, { body: { name: "old", quota: null } });
  const old: Account = { id: account.id, key: body.key, keyId: body.id };
  await submit(old, images, image());
  const paul = await newMember(account, 1);
  await env.DB.prepare("UPDATE api_key SET owner_id = (SELECT user_id FROM membership WHERE id = ?2) WHERE id = ?1")
    .bind(old.keyId, paul.id)
    .run();
  await setBudget(account, paul, month(60_000));
  expect(await spent(account, paul)).toBe(30_000);
  expect(await try_(paul.keys[0]!.key)).toBe(200);
  expect(await try_(old.key)).toBe(402);
});

test("the next window starts at zero", async () => {
  const account = await newAccount();
  const paul = await newMember(account);
  await setBudget(account, paul, { amount: 60_000, window: "day" });
  expect(await try_(paul.keys[0]!.key, 2)).toBe(200);
  expect(await try_(paul.keys[1]!.key)).toBe(402);
  vi.setSystemTime(Math.floor(Date.now() / 86_400_000 + 1) * 86_400_000);
  expect(await spent(account, paul)).toBe(0);
  expect(await try_(paul.keys[1]!.key, 2)).toBe(200);
});

test("a budget that a restored database lost is set again by the operator's decision", async () => {
  const account = await newAccount();
  const paul = await newMember(account);
  await submit(account, images, image());
  await wakeWallet(account);
  const backup = await backUp();
  vi.setSystemTime(Date.now() + 60_000);
  await setBudget(account, paul, month(30_000));
  await wakeWallet(account);
  await restore(backup);
  vi.setSystemTime(Date.now() + 60_000);
  expect(await try_(paul.keys[0]!.key)).toBe(401);
  const { body } = await asAdmin(`/reconcile?account=${account.id}&restored=replay`, { method: "POST" });
  expect(body.restored).toMatchObject([{ state: "replayed", changes: [{ change: "budget", id: paul.id }] }]);
  expect(await try_(paul.keys[0]!.key)).toBe(200);
  expect(await try_(paul.keys[1]!.key)).toBe(402);
});

/** `/admin`: the operator's API for accounts, keys and the audit. */

import type { MiddlewareHandler } from "hono";
import type * as z from "zod/mini";
import * as accounts from "../db/accounts.ts";
import * as apiKeys from "../db/api-keys.ts";
import { limitsRates } from "../config.ts";
import { forgetCallers } from "../db/callers.ts";
import { invite } from "../db/invitations.ts";
import { ApiError, invalid } from "../errors.ts";
import { secretsEqual } from "../ids.ts";
import { openWallet, toUnits } from "../db/ledger.ts";
import { announceKeys, changeBudget, changeQuota, readBalances } from "../tasks/wallets.ts";
import { ObjectsApi } from "../objects-api.ts";
import { bearerToken, secondsLeft } from "./auth.ts";
import { readFields, readNoBody } from "./body.ts";
import { type AppContext, type AppEnv, answer } from "./frame.ts";
import { balanceView, changeScope, keyView } from "./key-scope.ts";
import { operationsWorker } from "./operations.ts";
import { requireRow, toList } from "./page.ts";
import { readQuery } from "./query.ts";
import { routing } from "./router.ts";
import { accountChange, keyChange, newAccount, newKey } from "./schema/bodies.ts";
import { accountsQuery, auditQuery, reconcileQuery } from "./schema/queries.ts";

/** Addresses with too many wrong guesses, and until when this isolate refuses them. */
const guessers = new Map<string, number>();

/** Admits the operator. Wrong tokens are counted per address: after too many, every token is refused for the rest of the minute. */
const isOperator: MiddlewareHandler<AppEnv> = async (c, next) => {
  if (!c.env.ADMIN_TOKEN) throw new ApiError("not_found");
  const address = c.req.header("cf-connecting-ip") ?? "unknown";
  const now = Date.now();
  if ((guessers.get(address) ?? 0) > now) throw tooMany(now);
  const token = bearerToken(c);
  if (token !== undefined && (await secretsEqual(token, c.env.ADMIN_TOKEN))) return next();
  if (limitsRates(c.env) && !(await c.env.ADMIN_FAILURES.limit({ key: address })).success) {
    if (guessers.size >= 10_000) guessers.clear();
    guessers.set(address, now + 1000 * secondsLeft(now));
    throw tooMany(now);
  }
  throw new ApiError("unauthorized", { headers: { "www-authenticate": "Bearer" } });
};

const tooMany = (now: number) => new ApiError("rate_limit_exceeded", { retryAfter: secondsLeft(now) });

export const admin = routing()
  .use(isOperator)
  .post("/accounts", createAccount)
  .get("/accounts", async (c) => listAccounts(c, await readQuery(c, accountsQuery)))
  .get("/accounts/:id", async (c) => answer(c, await accountView(c, await findAccount(c))))
  .patch("/accounts/:id", changeAccount)
  .delete("/accounts/:id", async (c) => {
    await readNoBody(c);
    const id = c.req.param("id");
    const erasing = operationsWorker(c).erase(new ObjectsApi(c.env), id);
    // Also if the stream is aborted: the keys may already be erased.
    const state = await erasing.finally(() => forgetCallers(({ caller }) => caller.accountId === id));
    if (state === "unknown") throw new ApiError("not_found");
    return c.body(null, state === "erased" ? 204 : 202);
  })
  .post("/accounts/:id/keys", createKey)
  .get("/accounts/:id/keys", async (c) => {
    const keys = await apiKeys.listKeys(c.env.DB, (await findAccount(c)).id);
    return answer(c, toList(await keyViews(c, c.req.param("id"), keys), false));
  })
  .post("/accounts/:id/invitations", async (c) => {
    await readNoBody(c);
    const { token, expiresAt } = await invite(c.env.DB, (await findAccount(c)).id);
    const url = `${new URL(c.req.url).origin}/console/sign-up?invitation=${token}`;
    return answer(c, { url, expires_at: Math.floor(expiresAt / 1000) }, 201);
  })
  .patch("/keys/:id", updateKey)
  .delete("/keys/:id", async (c) => {
    await readNoBody(c);
    const key = await apiKeys.findKey(c.env.DB, c.req.param("id"));
    if (!key || !(await apiKeys.deleteKey(c.env.DB, announceKeys(c.env.WALLETS), key))) throw new ApiError("not_found");
    return c.body(null, 204);
  })
  .post("/reconcile", async (c) => {
    await readNoBody(c);
    const which = await readQuery(c, reconcileQuery);
    await requireRow(which.after, (place) => accounts.findRow(c.env.DB, place.replace(/\..*/, "")));
    if (which.account && !(await accounts.findRow(c.env.DB, which.account))) throw new ApiError("not_found");
    return answer(c, { object: "reconciliation", ...(await operationsWorker(c).reconcile(new ObjectsApi(c.env), which)) });
  })
  .get("/audit", async (c) => {
    const { account } = await readQuery(c, auditQuery);
    const audited = await operationsWorker(c).audit(new ObjectsApi(c.env), account);
    return answer(c, {
      accounts: audited.accounts,
      tasks_open: audited.tasksOpen,
      reserved: toUnits(audited.reserved),
      drift: audited.drift.map((row) => ({
        id: row.id,
        reserved: toUnits(row.reserved),
        used: toUnits(row.used),
        ledger_reserved: toUnits(row.ledgerReserved),
        ledger_used: toUnits(row.ledgerUsed),
      })),
      progress: {
        complete: audited.isComplete,
        accounts_checked: audited.accounts,
        entries_checked: audited.entries,
        account: audited.current,
        started_at: Math.floor(audited.startedAt / 1000),
      },
    });
  });

async function findAccount(c: AppContext): Promise<accounts.Account> {
  const account = await accounts.accountById(c.env.DB, c.req.param("id") ?? "");
  if (!account) throw new ApiError("not_found");
  return account;
}

const accountView = async (c: AppContext, account: accounts.Account) => ({
  id: account.id,
  email: account.email,
  name: account.name,
  disabled: account.disabled === 1,
  admin: account.admin === 1,
  created_at: Math.floor(account.createdAt / 1000),
  ...balanceView((await readBalances(c.env.WALLETS, account.id))[account.id]),
});

async function keyViews(c: AppContext, accountId: string, keys: apiKeys.ApiKey[]) {
  const balances = await readBalances(
    c.env.WALLETS,
    accountId,
    keys.map(({ walletId }) => walletId),
  );
  return keys.map((key) => ({ account_id: key.accountId, ...keyView(key, balances[key.walletId]) }));
}

async function createAccount(c: AppContext): Promise<Response> {
  const body = await readFields(c, newAccount, ["quota"]);
  const { account, statement } = accounts.insertAccount(c.env.DB, body.email, body.name ?? null);
  const [created] = await c.env.DB.batch([statement, openWallet(c.env.DB, account.id, body.quota)]);
  if (created?.results.length === 0) throw new ApiError("conflict", { violations: [{ param: "email", rule: "conflict" }] });
  return answer(c, await accountView(c, account), 201);
}

async function listAccounts(c: AppContext, { email, ...page }: z.output<ReturnType<typeof accountsQuery>>): Promise<Response> {
  await requireRow(page.after, (id) => accounts.findRow(c.env.DB, id));
  if (email !== undefined) {
    const account = await accounts.accountByEmail(c.env.DB, email);
    return answer(c, toList(account ? [await accountView(c, account)] : [], false));
  }
  const found = await accounts.listAccounts(c.env.DB, { ...page, limit: page.limit + 1 });
  return answer(
    c,
    toList(await Promise.all(found.slice(0, page.limit).map((account) => accountView(c, account))), found.length > page.limit),
  );
}

async function changeAccount(c: AppContext): Promise<Response> {
  const account = await findAccount(c);
  const { quota, add, disabled, admin, budget } = await readFields(c, accountChange, ["quota", "budget"]);
  if (quota !== undefined && add !== undefined) throw invalid("add", "not_both", { a: "quota", b: "add" });
  const change = quota !== undefined ? { quota } : add !== undefined ? { add } : undefined;
  if (change && (await changeQuota(c.env.WALLETS, account.id, account.id, change)) === "below_use")
    throw invalid(quota !== undefined ? "quota" : "add", "below_use");
  if (budget !== undefined) await changeBudget(c.env.WALLETS, account.id, account.id, budget);
  if (disabled !== undefined) await accounts.setDisabled(c.env.DB, announceKeys(c.env.WALLETS), account.id, disabled);
  if (admin !== undefined) await accounts.setAdmin(c.env.DB, account.id, admin);
  return answer(c, await accountView(c, await findAccount(c)));
}

const nullable = ["quota", "models", "kinds", "max_open_tasks", "budget"];

/** Changes a key, and the key that has shared its quota since a rotation. */
async function updateKey(c: AppContext): Promise<Response> {
  const key = await apiKeys.findKey(c.env.DB, c.req.param("id") ?? "");
  if (!key) throw new ApiError("not_found");
  const { name = key.name, quota: limit, budget, ...scope } = await readFields(c, keyChange, nullable);
  if (limit !== undefined && (await changeQuota(c.env.WALLETS, key.accountId, key.walletId, { quota: limit })) === "below_use")
    throw invalid("quota", "below_use");
  if (budget !== undefined) await changeBudget(c.env.WALLETS, key.accountId, key.walletId, budget);
  await apiKeys.changeKey(c.env.DB, announceKeys(c.env.WALLETS), key, name, changeScope(key.scope, scope));
  const [view = {}] = await keyViews(c, key.accountId, [(await apiKeys.findKey(c.env.DB, key.id)) ?? key]);
  return answer(c, view);
}

async function createKey(c: AppContext): Promise<Response> {
  const account = await findAccount(c);
  const body = await readFields(c, newKey, nullable);
  const expiresAt = body.expires_at === undefined ? null : body.expires_at * 1000;
  const { apiKey, key, statement } = await apiKeys.insertKey(c.env.DB, account.id, body.name, expiresAt, {
    scope: changeScope({}, body),
  });
  const [created] = await c.env.DB.batch([statement, openWallet(c.env.DB, apiKey.id, body.quota)]);
  if (created?.results.length === 0) throw new ApiError("too_many_keys");
  // Set before the answer shows the key, so that the key can never spend without its budget.
  if (body.budget) await changeBudget(c.env.WALLETS, account.id, apiKey.walletId, body.budget);
  return answer(c, { ...(await keyViews(c, account.id, [apiKey]))[0], key }, 201);
}

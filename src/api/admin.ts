/** `/admin`: the operator's API for accounts, keys and the audit. */

import { answer, respond } from "./request/answer.ts";
import { type AppContext, type Handle, operationsWorker } from "./request/context.ts";
import * as accounts from "../db/accounts.ts";
import * as apiKeys from "../db/api-keys.ts";
import { inLanes } from "../base/concurrency.ts";
import { limitsRates } from "../config.ts";
import { liveCatalog } from "../current-catalog.ts";
import { forgetCallers } from "../db/callers.ts";
import { invite } from "../db/accounts.ts";
import { ApiError, invalid } from "../base/errors.ts";
import { secretsEqual } from "../base/ids.ts";
import { toSeconds } from "../base/times.ts";
import { toUnits } from "../db/ledger.ts";
import { vouchedAdmin } from "../db/vouched.ts";
import { Objects } from "../rpc/objects.ts";
import { readBalances } from "../wallet/settlements.ts";
import { operator } from "./request/actor.ts";
import { bearerToken } from "./request/auth.ts";
import { readFields, readNoBody } from "./request/body.ts";
import { balanceView, changeScope, keyView } from "./request/key-scope.ts";
import { readQuery, requireRow, toList } from "./request/query.ts";
import { clientNetwork, secondsLeft, tooManyRequests } from "./request/strangers.ts";
import { accountChange, keyChange, newAccount, newKey } from "./schema/bodies.ts";
import { accountsQuery, auditQuery, reconcileQuery } from "./schema/queries.ts";

/** Networks with too many wrong guesses, and until when this isolate refuses them. */
const guessers = new Map<string, number>();

/** Admits the operator, and the console for an admin. Wrong tokens are counted per network: after too many, every token is refused for the rest of the minute. */
export async function admitOperator(c: AppContext): Promise<void> {
  if (vouchedAdmin(c.req.raw)) return;
  if (!c.env.ADMIN_TOKEN) throw new ApiError("not_found");
  const network = clientNetwork(c);
  const now = Date.now();
  if ((guessers.get(network) ?? 0) > now) throw tooManyRequests();
  const token = bearerToken(c);
  if (token !== undefined && (await secretsEqual(token, c.env.ADMIN_TOKEN))) return;
  if (limitsRates(c.env) && !(await c.env.ADMIN_FAILURES.limit({ key: network })).success) {
    if (guessers.size >= 10_000) guessers.clear();
    guessers.set(network, now + 1000 * secondsLeft(now));
    throw tooManyRequests();
  }
  throw new ApiError("unauthorized", { headers: { "www-authenticate": "Bearer" } });
}

/** The handler for requests of the operator. */
export const operated =
  (handle: Handle): Handle =>
  async (c, id) => {
    await admitOperator(c);
    return handle(c, id);
  };

async function findAccount(c: AppContext, id: string): Promise<accounts.Account> {
  const account = await accounts.accountById(c.env.DB, id);
  if (!account) throw new ApiError("not_found");
  return account;
}

async function accountView(c: AppContext, account: accounts.Account) {
  const [balances, { isRestored }] = await Promise.all([
    readBalances(c.env, c.executionCtx, account.id),
    c.env.WALLETS.getByName(account.id).checkKeys(account.keysRevision),
  ]);
  return {
    id: account.id,
    email: account.email,
    name: account.name,
    disabled: account.disabled === 1,
    restored: isRestored,
    admin: account.admin === 1,
    created_at: toSeconds(account.createdAt),
    ...balanceView(balances[account.id]),
    shortfall: toUnits(balances[account.id]?.shortfall ?? 0),
  };
}

async function keyViews(c: AppContext, accountId: string, keys: apiKeys.ApiKey[]) {
  const walletIds = keys.map(({ walletId }) => walletId);
  const balances = await readBalances(c.env, c.executionCtx, accountId, walletIds);
  return keys.map((key) => ({ account_id: key.accountId, ...keyView(key, balances[key.walletId]) }));
}

export async function createAccount(c: AppContext): Promise<Response> {
  const body = await readFields(c, newAccount, { nullable: ["quota"] });
  const account = await accounts.createAccount(c.env.DB, operator(c), { ...body, name: body.name ?? null });
  if (!account) throw new ApiError("conflict", { violations: [{ param: "email", rule: "in_use" }] });
  return answer(c, await accountView(c, account), 201);
}

export async function listAccounts(c: AppContext): Promise<Response> {
  const { email, ...page } = readQuery(c, accountsQuery);
  await requireRow(page.after, (id) => accounts.hasAccount(c.env.DB, id));
  if (email !== undefined) {
    const account = await accounts.accountByEmail(c.env.DB, email);
    return answer(c, toList(account ? [await accountView(c, account)] : [], false));
  }
  const found = await accounts.listAccounts(c.env.DB, { ...page, limit: page.limit + 1 });
  return answer(c, toList(await inLanes(found.slice(0, page.limit), (account) => accountView(c, account)), found.length > page.limit));
}

export async function showAccount(c: AppContext, id: string): Promise<Response> {
  return answer(c, await accountView(c, await findAccount(c, id)));
}

export async function changeAccount(c: AppContext, id: string): Promise<Response> {
  const account = await findAccount(c, id);
  const { quota, add, disabled, admin, budget } = await readFields(c, accountChange, { nullable: ["quota", "budget"] });
  if (quota !== undefined && add !== undefined) throw invalid("add", "not_both", { a: "quota", b: "add" });
  const change = quota !== undefined ? { quota } : add !== undefined ? { add } : undefined;
  if (change && (await c.env.WALLETS.getByName(account.id).changeQuota(account.id, change, operator(c))) === "below_use")
    throw invalid(quota !== undefined ? "quota" : "add", "below_use");
  if (budget !== undefined) await c.env.WALLETS.getByName(account.id).changeBudget(account.id, budget, operator(c));
  if (disabled !== undefined) await accounts.setDisabled(c.env.DB, new Objects(c.env), operator(c), account.id, disabled);
  if (admin !== undefined) await accounts.setAdmin(c.env.DB, new Objects(c.env), operator(c), account.id, admin);
  return answer(c, await accountView(c, await findAccount(c, id)));
}

export async function deleteAccount(c: AppContext, id: string): Promise<Response> {
  await readNoBody(c);
  const erasing = operationsWorker(c).erase(new Objects(c.env), id, operator(c));
  // Also if the stream is aborted: the keys may already be erased.
  const state = await erasing.finally(() => forgetCallers(({ caller }) => caller.accountId === id));
  if (state === "unknown") throw new ApiError("not_found");
  return respond(c, null, state === "erased" ? 204 : 202);
}

export async function createInvitation(c: AppContext, id: string): Promise<Response> {
  await readNoBody(c);
  const { token, expiresAt } = await invite(c.env.DB, operator(c), (await findAccount(c, id)).id);
  const url = `${new URL(c.req.url).origin}/console/sign-up?invitation=${token}`;
  return answer(c, { url, expires_at: toSeconds(expiresAt) }, 201);
}

export async function listKeys(c: AppContext, id: string): Promise<Response> {
  const account = await findAccount(c, id);
  return answer(c, toList(await keyViews(c, account.id, await apiKeys.listKeys(c.env.DB, account.id)), false));
}

const nullable = ["quota", "models", "kinds", "max_open_tasks", "budget"];

/** Changes a key, and the key that has shared its quota since a rotation. */
export async function changeKey(c: AppContext, id: string): Promise<Response> {
  const key = await apiKeys.findKey(c.env.DB, id);
  if (!key) throw new ApiError("not_found");
  const catalog = await liveCatalog(c.env.DB);
  const { name = key.name, quota: limit, budget, paused, ...scope } = await readFields(c, () => keyChange(catalog), { nullable });
  const wallet = c.env.WALLETS.getByName(key.accountId);
  if (limit !== undefined && (await wallet.changeQuota(key.walletId, { quota: limit }, operator(c))) === "below_use")
    throw invalid("quota", "below_use");
  if (budget !== undefined) await wallet.changeBudget(key.walletId, budget, operator(c));
  await apiKeys.changeKey(c.env.DB, new Objects(c.env), operator(c), key, name, changeScope(catalog, key.scope, scope));
  if (paused !== undefined) await apiKeys.pauseKey(c.env.DB, new Objects(c.env), operator(c), key, paused);
  const [view = {}] = await keyViews(c, key.accountId, [(await apiKeys.findKey(c.env.DB, key.id)) ?? key]);
  return answer(c, view);
}

export async function createKey(c: AppContext, id: string): Promise<Response> {
  const account = await findAccount(c, id);
  const catalog = await liveCatalog(c.env.DB);
  const body = await readFields(c, () => newKey(catalog), { nullable });
  const expiresAt = body.expires_at === undefined ? null : body.expires_at * 1000;
  const scope = changeScope(catalog, {}, body);
  const created = await apiKeys.createKey(c.env.DB, operator(c), account.id, { name: body.name, quota: body.quota, expiresAt, scope });
  if (!created) throw new ApiError("too_many_keys");
  const { apiKey, key } = created;
  // Set before the answer shows the key, so that the key can never spend without its budget.
  if (body.budget) await c.env.WALLETS.getByName(account.id).changeBudget(apiKey.walletId, body.budget, operator(c));
  return answer(c, { ...(await keyViews(c, account.id, [apiKey]))[0], key }, 201);
}

export async function deleteKey(c: AppContext, id: string): Promise<Response> {
  await readNoBody(c);
  const key = await apiKeys.findKey(c.env.DB, id);
  if (!key || !(await apiKeys.deleteKey(c.env.DB, new Objects(c.env), operator(c), key))) throw new ApiError("not_found");
  return respond(c, null, 204);
}

export async function reconcile(c: AppContext): Promise<Response> {
  await readNoBody(c);
  const which = readQuery(c, reconcileQuery);
  await requireRow(which.after, (place) => accounts.hasAccount(c.env.DB, place.replace(/\..*/, "")));
  if (which.account && !(await accounts.hasAccount(c.env.DB, which.account))) throw new ApiError("not_found");
  return answer(c, {
    object: "reconciliation",
    ...(await operationsWorker(c).reconcile(new Objects(c.env), { ...which, by: operator(c) })),
  });
}

export async function testAlert(c: AppContext): Promise<Response> {
  await readNoBody(c);
  return answer(c, { object: "test_alert", receivers: await operationsWorker(c).testAlert() });
}

export async function audit(c: AppContext): Promise<Response> {
  const { account } = readQuery(c, auditQuery);
  const audited = await operationsWorker(c).audit(new Objects(c.env), account);
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
      started_at: toSeconds(audited.startedAt),
    },
  });
}

/** `/v1/key`: the calling key's name, limits and what is left of them. */

import { Hono } from "hono";
import { findKey } from "../db/api-keys.ts";
import { remaining, toUnits } from "../db/ledger.ts";
import { ApiError } from "../errors.ts";
import { readBalances } from "../tasks/wallets.ts";
import { admitted } from "./auth.ts";
import { type AppContext, type AppEnv, answer } from "./frame.ts";
import { budgetView, scopeView } from "./key-scope.ts";

export const key = new Hono<AppEnv>().get("/", admitted("read"), show);

async function show(c: AppContext): Promise<Response> {
  const { accountId, keyHash, keyId } = c.get("caller");
  const [found, balances] = await Promise.all([keyHash && findKey(c.env.DB, keyHash), readBalances(c.env.WALLETS, accountId, [keyId])]);
  const wallet = balances[keyId];
  // The console calls without one.
  if (!found || !wallet) throw new ApiError("not_found");
  const left = remaining(wallet);
  return answer(c, {
    id: found.id,
    object: "key",
    name: found.name,
    prefix: found.prefix,
    created_at: Math.floor(found.createdAt / 1000),
    expires_at: found.expiresAt === null ? null : Math.floor(found.expiresAt / 1000),
    quota: wallet.quota === null ? null : toUnits(wallet.quota),
    used: toUnits(wallet.used),
    reserved: toUnits(wallet.reserved),
    remaining: left === null ? null : toUnits(left),
    ...scopeView(found.scope),
    budget: budgetView(wallet.budget),
    open_tasks: wallet.openTasks,
  });
}

/** The four balance paths: the key's and the account's balance, with and without `/v1`, open to every origin. */

import { findCaller } from "../db/callers.ts";
import { ApiError } from "../errors.ts";
import { alert } from "../log.ts";
import { remaining, toUnits } from "../db/ledger.ts";
import { readBalances } from "../tasks/wallets.ts";
import { bearerToken, countRequest } from "./auth.ts";
import { sentences } from "./balance-sentences.ts";
import { isBrowserToken } from "./browser-tokens.ts";
import { prepare } from "./errors.ts";
import type { AppContext } from "./frame.ts";
import { routing } from "./router.ts";

type Scope = "key" | "account";

async function balance(c: AppContext, scope: Scope): Promise<Response> {
  const unknown = scope === "key" ? sentences.unknownKey : sentences.unknownUser;
  const token = bearerToken(c);
  if (token === undefined) return refuse(c, 401, sentences.noHeader);
  try {
    if (isBrowserToken(token)) return refuse(c, 403, sentences.browserToken);
    const caller = await findCaller(c.env, token);
    if (!caller) return refuse(c, 401, unknown);
    c.set("caller", caller);
    await countRequest(c, "read");
    const { accountId, keyId } = caller;
    const balances = await readBalances(c.env.WALLETS, accountId, scope === "key" ? [keyId] : []);
    const found = balances[scope === "key" ? keyId : accountId];
    if (!found) return refuse(c, 401, unknown);
    const left = remaining(found);
    return c.json({
      success: true,
      remain_balance: left === null ? -1 : toUnits(left),
      used_balance: toUnits(found.used),
      unlimited_quota: left === null,
    });
  } catch (error) {
    if (error instanceof ApiError) throw error;
    alert("request", { request: c.get("requestId"), outcome: "internal_error" }, error);
    return refuse(c, 500, sentences.fault);
  }
}

function refuse(c: AppContext, status: 401 | 403 | 500, message: string): Response {
  c.set("outcome", status === 500 ? "internal_error" : "unauthorized");
  return c.json({ success: false, message }, status);
}

export const balances = (scope: Scope) =>
  routing()
    .onError((thrown, c) => {
      const { error, status } = prepare(c, thrown);
      const message = error.code === "rate_limit_exceeded" || error.code === "method_not_allowed" ? sentences[error.code] : sentences.fault;
      return c.json({ success: false, message }, status);
    })
    .use((c, next) => {
      c.set("allowOrigin", "*");
      return next();
    })
    .get("/", (c) => balance(c, scope))
    .all("/", () => {
      throw new ApiError("method_not_allowed", { headers: { allow: "GET, HEAD, OPTIONS" } });
    });

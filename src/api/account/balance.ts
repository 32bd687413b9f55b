/** The four balance paths: the key's and the account's balance, with and without `/v1`, open to every origin. */

import { answerPlain, answerPreflight } from "../request/answer.ts";
import type { AppContext, Handle } from "../request/context.ts";
import { ApiError, methodNotAllowed } from "../../base/errors.ts";
import { alert } from "../../base/log.ts";
import { remaining, toUnits } from "../../db/ledger.ts";
import { authenticate, bearerToken, countRequest } from "../request/auth.ts";
import { sentences } from "./balance-sentences.ts";
import { prepare } from "../request/errors.ts";
import { readBalances } from "../../wallet/settlements.ts";

type Scope = "key" | "account";

/** Answers every method of a balance path, because its errors have a shape of their own. Pages on any origin may read its answers. */
export const balance =
  (scope: Scope): Handle =>
  async (c) => {
    c.set("allowOrigin", "*");
    const { method } = c.req;
    try {
      if (method === "OPTIONS") return answerPreflight(c);
      if (method !== "GET" && method !== "HEAD") throw methodNotAllowed(["GET", "HEAD", "OPTIONS"]);
      return await showBalance(c, scope);
    } catch (thrown) {
      if (!(thrown instanceof ApiError)) {
        alert("request", { request: c.get("requestId"), outcome: "internal_error" }, thrown);
        return refuse(c, 500, sentences.fault);
      }
      const { error, headers } = prepare(c, thrown);
      const { code, status } = error;
      const isNamed = code === "rate_limit_exceeded" || code === "method_not_allowed" || code === "key_scope";
      return answerPlain(c, { success: false, message: isNamed ? sentences[code] : sentences.fault }, status, headers);
    }
  };

async function showBalance(c: AppContext, scope: Scope): Promise<Response> {
  const unknown = scope === "key" ? sentences.unknownKey : sentences.unknownUser;
  if (bearerToken(c) === undefined) return refuse(c, 401, sentences.noHeader);
  const caller = await authenticate(c);
  if (!caller) return refuse(c, 401, unknown);
  c.set("caller", caller);
  await countRequest(c, "read");
  if (caller.token) throw new ApiError("key_scope");
  const { accountId, keyId } = caller;
  const balances = await readBalances(c.env, c.executionCtx, accountId, scope === "key" ? [keyId] : []);
  const found = balances[scope === "key" ? keyId : accountId];
  if (!found) return refuse(c, 401, unknown);
  const left = remaining(found);
  return answerPlain(c, {
    success: true,
    remain_balance: left === null ? -1 : toUnits(left),
    used_balance: toUnits(found.used),
    unlimited_quota: left === null,
  });
}

function refuse(c: AppContext, status: 401 | 500, message: string): Response {
  c.set("outcome", status === 500 ? "internal_error" : "unauthorized");
  return answerPlain(c, { success: false, message }, status);
}

/** `/v1/key`: the calling key's name, limits and remaining amounts. */

import type { AppContext } from "../request/context.ts";
import { findKey } from "../../db/api-keys.ts";
import { ApiError } from "../../base/errors.ts";
import { answer } from "../request/answer.ts";
import { readBalances } from "../../wallet/settlements.ts";
import { keyView } from "../request/key-scope.ts";

export async function showKey(c: AppContext): Promise<Response> {
  const { accountId, keyHash, keyId } = c.get("caller");
  const [found, balances] = await Promise.all([
    keyHash && findKey(c.env.DB, keyHash),
    readBalances(c.env, c.executionCtx, accountId, [keyId]),
  ]);
  const wallet = balances[keyId];
  // Requests from the console have no key.
  if (!found || !wallet) throw new ApiError("not_found");
  return answer(c, { object: "key", ...keyView(found, wallet), open_tasks: wallet.openTasks });
}

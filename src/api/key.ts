/** `/v1/key`: the calling key's name, limits and remaining amounts. */

import { findKey } from "../db/api-keys.ts";
import { ApiError } from "../errors.ts";
import { readBalances } from "../tasks/wallets.ts";
import { admitted } from "./auth.ts";
import { type AppContext, answer } from "./frame.ts";
import { keyView } from "./key-scope.ts";
import { routing } from "./router.ts";

export const key = routing().get("/", admitted("read"), show);

async function show(c: AppContext): Promise<Response> {
  const { accountId, keyHash, keyId } = c.get("caller");
  const [found, balances] = await Promise.all([keyHash && findKey(c.env.DB, keyHash), readBalances(c.env.WALLETS, accountId, [keyId])]);
  const wallet = balances[keyId];
  // Requests from the console have no key.
  if (!found || !wallet) throw new ApiError("not_found");
  return answer(c, { object: "key", ...keyView(found, wallet), open_tasks: wallet.openTasks });
}

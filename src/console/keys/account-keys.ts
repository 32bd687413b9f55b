/** The keys that a signed-in user sees. */

import type { ConsoleContext } from "../context.ts";
import { type ApiKey, listKeys } from "../../db/api-keys.ts";
import { consoleKeys } from "../members.ts";

/** A key that a user created, and whether it was replaced by a newer one. */
export type Key = ApiKey & { isReplaced: boolean };

/** The account's keys without the console's own ones, whose secrets no user has. A member sees only the member's own. */
export async function readAccountKeys(c: ConsoleContext): Promise<Key[]> {
  const { id: accountId } = c.get("account");
  const [all, own] = await Promise.all([listKeys(c.env.DB, accountId), consoleKeys(c.env.DB, accountId)]);
  const isMember = c.get("membership").role === "member";
  const keys = all.filter(({ id, ownerId }) => !own.has(id) && (!isMember || ownerId === c.get("user").id));
  return keys.map((key, at) => ({ ...key, isReplaced: keys.slice(at + 1).some(({ walletId }) => walletId === key.walletId) }));
}

/** The keys that a signed-in user sees. */

import type { ConsoleContext } from "../context.ts";
import { type ApiKey, listKeys } from "../../db/api-keys.ts";
import { mayManage } from "../../db/memberships.ts";
import { listRoles } from "../members.ts";

/** A key that a user created. */
export interface Key extends ApiKey {
  /** True if a newer key replaced it. */
  isReplaced: boolean;
  /** True if the signed-in user may change it: the user's own, the account's, or that of a member whom the user may change. */
  isManaged: boolean;
}

/** The account's keys without the console's own ones, whose secrets no user has. A member sees only the member's own. */
export async function readAccountKeys(c: ConsoleContext): Promise<Key[]> {
  const { id: accountId } = c.var.account;
  const [all, members] = await Promise.all([listKeys(c.env.DB, accountId), listRoles(c.env.DB, accountId)]);
  const { role } = c.var.membership;
  const isOwn = ({ ownerId }: ApiKey) => ownerId === c.var.user.id;
  const isManaged = ({ ownerId }: ApiKey) => mayManage(role, members.find(({ userId }) => userId === ownerId)?.role ?? "member");
  const keys = all.filter((key) => members.every(({ keyId }) => keyId !== key.id) && (role !== "member" || isOwn(key)));
  return keys.map((key, at) => ({
    ...key,
    isReplaced: keys.slice(at + 1).some(({ walletId }) => walletId === key.walletId),
    isManaged: isOwn(key) || isManaged(key),
  }));
}

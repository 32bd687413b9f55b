/** After each removal or new password: ends older links for a new one, and records the user's ways to sign in, so that a restored database does not bring old ones back. */

import type { ConsoleContext } from "./context.ts";
import { changeKeys, type AccountChange } from "../db/account-changes.ts";
import { alert } from "../base/log.ts";
import { accountsOf, endResetLinks, readLogins } from "./members.ts";

/**
 * Ends the links, and records the ways as they are now: not for a user without an account, who has nothing to protect. A fault is logged:
 * the change itself has been made, and its user must see that.
 */
export async function recordLogins(c: ConsoleContext, userId: string): Promise<void> {
  try {
    await endResetLinks(c.env.DB, userId);
    const change: AccountChange = { act: "logins", userId, ...(await readLogins(c.env.DB, userId)) };
    // For each account of the user: the operator may give up the changes of one of them.
    for (const accountId of await accountsOf(c.env.DB, userId)) await changeKeys(c.env.DB, c.env.API, accountId, [], change);
  } catch (error) {
    alert("keys", { outcome: "logins_not_recorded" }, error);
  }
}

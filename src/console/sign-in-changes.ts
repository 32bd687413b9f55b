/** Records a user's ways to sign in after each removal or new password, so that a restored database does not bring old ones back. */

import type { ConsoleContext } from "./context.ts";
import { changeKeys, type AccountChange } from "../db/account-changes.ts";
import { alert } from "../base/log.ts";
import { accountsOf, readLogins } from "./members.ts";

/**
 * Records them as they are now. Not for a user without an account, who has nothing to protect. A fault is logged: the change itself has been
 * made, and its user must see that.
 */
export async function recordLogins(c: ConsoleContext, userId: string): Promise<void> {
  try {
    const change: AccountChange = { act: "logins", userId, ...(await readLogins(c.env.DB, userId)) };
    // For each account of the user: the operator may give up the changes of one of them.
    for (const accountId of await accountsOf(c.env.DB, userId)) await changeKeys(c.env.DB, c.env.API, accountId, [], change);
  } catch (error) {
    alert("keys", { outcome: "logins_not_recorded" }, error);
  }
}

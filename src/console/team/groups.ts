/** What groups of the OpenID provider give: at each sign-in the user gets their roles, and leaves the accounts that only other groups open. */

import { alert } from "../../base/log.ts";
import { addMember, changeMember, findMembershipOf, removeMember } from "../../db/memberships.ts";
import type { ConsoleContext } from "../context.ts";
import { groupRoles } from "../settings.ts";

/**
 * Sets the user's roles in the accounts that OIDC_GROUPS names, in no others. A member whom an owner has disabled stays disabled, and the last
 * owner of an account stays its owner. Throws if D1 or a wallet does not answer: then the user is not signed in.
 */
export async function applyGroups(c: ConsoleContext, userId: string, groups: readonly string[]): Promise<void> {
  const { DB: db, API: announcer } = c.env;
  const by = { kind: "system", id: "oidc", address: c.req.header("cf-connecting-ip") ?? null } as const;
  for (const [accountId, role] of groupRoles(c.env, groups)) {
    const known = await findMembershipOf(db, accountId, userId);
    if (!known) {
      if (role) await addMember(db, by, accountId, userId, role);
    } else if (role !== known.role) {
      const done = await (role ? changeMember(db, announcer, by, known, { role }) : removeMember(db, announcer, by, known));
      if (done !== "done") alert("console", { account: accountId, outcome: "group_not_applied", cause: done });
    }
  }
}

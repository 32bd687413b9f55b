/** The members of accounts in D1: roles, disabling, leaving. At least one active owner stays, whatever runs in parallel. */

import { newId } from "../base/ids.ts";
import type { Role } from "../base/roles.ts";
import { type AccountChange, type Announcer, changeKeys, isNotLastOwner, removalStatements } from "./account-changes.ts";
import { type Actor, auditRow, auditRowIfChanged } from "./audit-log.ts";
import { forgetCallers } from "./callers.ts";
import { withdrawInvitationsBy } from "./member-invitations.ts";
import { hasRow, queryRow, queryRows } from "./query.ts";

export interface Membership {
  /** Also the id of the wallet row with the budget. */
  id: string;
  accountId: string;
  userId: string;
  role: Role;
  disabled: 0 | 1;
  createdAt: number;
  email: string;
  name: string;
}

/** A member on the page of members. */
export interface ListedMember extends Membership {
  /** The number of keys that work or would work if the member was not disabled, without the console's own. */
  keys: number;
  /** `credential`, `passkey`, `github`, ...: with commas between them; null without any. */
  logins: string | null;
  /** When a session was last used, as ISO text; null if there is none. */
  seenAt: string | null;
}

const columns = `m.id, m.account_id AS accountId, m.user_id AS userId, m.role, m.disabled, m.created_at AS createdAt, u.email, u.name
  FROM membership m JOIN auth_user u ON u.id = m.user_id`;

/** The members of an account, the first one first. */
export const listMembers = (db: D1Database, accountId: string): Promise<ListedMember[]> =>
  queryRows(
    db,
    `SELECT (SELECT count(*) FROM api_key k WHERE k.account_id = m.account_id AND k.owner_id = m.user_id AND k.deleted_at IS NULL
          AND k.id IS NOT m.key_id) AS keys,
        (SELECT group_concat(login) FROM (SELECT DISTINCT providerId AS login FROM auth_account WHERE userId = m.user_id
          UNION SELECT 'passkey' FROM auth_passkey WHERE userId = m.user_id ORDER BY 1)) AS logins,
        (SELECT max(updatedAt) FROM auth_session WHERE userId = m.user_id) AS seenAt, ${columns}
      WHERE m.account_id = ?1 ORDER BY m.created_at, m.id`,
    [accountId],
  );

/** A member by the membership's id. */
export const findMembership = (db: D1Database, accountId: string, id: string): Promise<Membership | undefined> =>
  queryRow(db, `SELECT ${columns} WHERE m.account_id = ?1 AND m.id = ?2`, [accountId, id]);

export const findMembershipOf = (db: D1Database, accountId: string, userId: string): Promise<Membership | undefined> =>
  queryRow(db, `SELECT ${columns} WHERE m.account_id = ?1 AND m.user_id = ?2`, [accountId, userId]);

/** True for a change that the role allows: owners change everybody, admins those who are no owners, to roles below the owner's. */
export const mayManage = (manager: Role, target: Role, wanted: Role = target): boolean =>
  manager === "owner" || (manager === "admin" && target !== "owner" && wanted !== "owner");

/** SQL: the user ?3 is still an active owner or admin who may change the member `m`. A role that was read before may be gone. */
const isManaged = `EXISTS (SELECT 1 FROM membership b WHERE b.account_id = m.account_id AND b.user_id = ?3 AND b.disabled = 0
  AND (b.role = 'owner' OR (b.role = 'admin' AND m.role <> 'owner')))`;

/** `last_owner`: the account would have no owner. `forbidden`: the acting user may not do this, any more. */
export type MemberOutcome = "done" | "last_owner" | "forbidden";

/** Tests a condition of a member in the primary. */
const holds = (db: D1Database, condition: string, { accountId, userId }: Membership, ...values: string[]): Promise<boolean> =>
  hasRow(db, `SELECT 1 FROM membership m WHERE m.account_id = ?1 AND m.user_id = ?2 AND ${condition}`, [accountId, userId, ...values]);

/** Checks before a change is announced, because an announced change is made again in a restored database. */
async function refusal(db: D1Database, managerId: string | undefined, member: Membership): Promise<MemberOutcome | undefined> {
  if (managerId !== undefined && managerId !== member.userId && !(await holds(db, isManaged, member, managerId))) return "forbidden";
  return (await holds(db, isNotLastOwner, member)) ? undefined : "last_owner";
}

const managesMembers = (role: Role) => role === "owner" || role === "admin";

/**
 * Sets a member's role, or disables or enables the member: the keys of a disabled member or viewer stop within ten seconds, and work again
 * later. The invitations of an owner or admin who may not invite any more are withdrawn, and with them all links. `by` is the
 * acting user, or the system for the groups of the OpenID provider, which decides about every role.
 */
export async function changeMember(
  db: D1Database,
  announcer: Announcer,
  by: Actor & { id: string },
  member: Membership,
  wanted: { role?: Role; disabled?: boolean },
): Promise<MemberOutcome> {
  const { accountId, userId } = member;
  const role = wanted.role ?? member.role;
  const disabled = wanted.disabled ?? member.disabled === 1;
  const takesOwner = member.role === "owner" && member.disabled === 0 && (role !== "owner" || disabled);
  const isSystem = by.kind === "system";
  if (!isSystem && !(await holds(db, isManaged, member, by.id))) return "forbidden";
  if (!isSystem && role === "owner" && member.role !== "owner" && !(await isOwner(db, accountId, by.id))) return "forbidden";
  if (takesOwner && !(await holds(db, isNotLastOwner, member))) return "last_owner";
  const statements = [
    db
      .prepare(
        `UPDATE membership AS m SET role = ?4, disabled = ?5 WHERE m.account_id = ?1 AND m.user_id = ?2 AND m.role = ?6 AND (?9 OR ${isManaged})
         AND (NOT ?7 OR ${isNotLastOwner})
         AND (NOT ?8 OR EXISTS (SELECT 1 FROM membership b WHERE b.account_id = ?1 AND b.user_id = ?3 AND b.role = 'owner' AND b.disabled = 0))
         RETURNING id`,
      )
      .bind(
        accountId,
        userId,
        by.id,
        role,
        Number(disabled),
        member.role,
        Number(takesOwner),
        Number(!isSystem && role === "owner" && member.role !== "owner"),
        Number(isSystem),
      ),
    auditRowIfChanged(db, accountId, by, {
      act: role === member.role ? (disabled ? "member_disabled" : "member_enabled") : "role_changed",
      target: userId,
      before: { role: member.role, disabled: member.disabled === 1 },
      after: { role, disabled },
    }),
    ...(managesMembers(member.role) ? [withdrawInvitationsBy(db, accountId, userId)] : []),
  ];
  const [changed] = await changeKeys(db, announcer, accountId, statements, { act: "member", userId, role, disabled });
  forgetCallers(({ caller }) => caller.accountId === accountId);
  return changed?.results.length === 1 ? "done" : "forbidden";
}

const isOwner = (db: D1Database, accountId: string, userId: string): Promise<boolean> =>
  hasRow(db, "SELECT 1 FROM membership WHERE account_id = ?1 AND user_id = ?2 AND role = 'owner' AND disabled = 0", [accountId, userId]);

/** Makes a user a member without an invitation. Nothing happens if the user is a member, or the account does not exist. */
export async function addMember(db: D1Database, by: Actor, accountId: string, userId: string, role: Role): Promise<void> {
  const id = newId("mem_");
  await db.batch([
    db
      .prepare(
        `INSERT INTO membership (id, account_id, user_id, role, created_at) SELECT ?1, a.id, ?3, ?4, ?5 FROM account a
         WHERE a.id = ?2 AND a.erased_at IS NULL AND NOT EXISTS (SELECT 1 FROM membership m WHERE m.account_id = ?2 AND m.user_id = ?3)`,
      )
      .bind(id, accountId, userId, role, Date.now()),
    auditRowIfChanged(db, accountId, by, { act: "member_joined", target: userId, after: { role } }),
    db.prepare("INSERT INTO wallet (id) SELECT ?1 WHERE changes() > 0").bind(id),
  ]);
}

/**
 * Ends a membership: by the member, who leaves, by an owner or admin, or by the system for the groups of the OpenID provider. The member's keys are deleted, and refused within ten seconds, and so are the member's conversations; tasks
 * go on. Links that the member may know and the member's own invitations are withdrawn, and the account gets the address of another owner if it had this member's.
 */
export async function removeMember(
  db: D1Database,
  announcer: Announcer,
  by: Actor & { id: string },
  member: Membership,
): Promise<MemberOutcome> {
  const { accountId, userId, email } = member;
  const isLeaving = by.id === userId;
  const isSystem = by.kind === "system";
  const refused = await refusal(db, isSystem ? undefined : by.id, member);
  if (refused) return refused;
  const at = Date.now();
  const change: AccountChange = { act: "member_left", userId, at };
  const [deleted, ...owned] = removalStatements(
    db,
    accountId,
    userId,
    at,
    isLeaving ? "?3 = m.user_id" : isSystem ? "?3 <> ''" : isManaged,
    by.id,
  );
  const isGone = "NOT EXISTS (SELECT 1 FROM membership WHERE account_id = ?1 AND user_id = ?2)";
  const statements = [
    deleted!,
    auditRowIfChanged(db, accountId, by, {
      act: isLeaving ? "member_left" : "member_removed",
      target: userId,
      before: { role: member.role },
    }),
    ...owned,
    withdrawInvitationsBy(db, accountId, userId, email),
    db
      .prepare(
        `UPDATE account SET email = coalesce((SELECT lower(u.email) FROM membership o JOIN auth_user u ON u.id = o.user_id
           WHERE o.account_id = ?1 AND o.role = 'owner' AND o.disabled = 0 AND NOT EXISTS (SELECT 1 FROM account WHERE email = lower(u.email))
           ORDER BY o.created_at LIMIT 1), lower(id) || '@accounts.invalid')
         WHERE id = ?1 AND email = lower(?3) AND ${isGone}`,
      )
      .bind(accountId, userId, email),
  ];
  const [removed] = await changeKeys(db, announcer, accountId, statements, change);
  forgetCallers(({ caller }) => caller.accountId === accountId);
  return removed?.results.length === 1 ? "done" : isLeaving ? "last_owner" : "forbidden";
}

export async function renameAccount(db: D1Database, by: Actor, accountId: string, before: string | null, name: string): Promise<void> {
  await db.batch([
    db.prepare("UPDATE account SET name = ?2 WHERE id = ?1").bind(accountId, name),
    auditRow(db, accountId, by, { act: "account_renamed", target: accountId, before: { name: before }, after: { name } }),
  ]);
}

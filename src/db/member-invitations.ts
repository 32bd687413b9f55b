/** Invitations to be a member of an account: for one address by mail, or a link for several people. Only the hash of the token is stored. */

import { newId, sha256Hex } from "../base/ids.ts";
import type { Role } from "../base/roles.ts";
import { type Announcer, changeKeys, removeInvitation } from "./account-changes.ts";
import { type Actor, auditRowIfChanged } from "./audit-log.ts";
import { hasRow, queryRow, queryRows } from "./query.ts";

const maxOpen = 100;

/** An invitation that can still be used. Times in milliseconds. */
export interface MemberInvitation {
  id: string;
  role: Role;
  /** null: everyone with the link. */
  email: string | null;
  /** Of a link. */
  name: string | null;
  maxUses: number;
  uses: number;
  createdAt: number;
  expiresAt: number;
}

const columns =
  "i.id, i.role, i.email, i.name, i.max_uses AS maxUses, i.uses, i.created_at AS createdAt, i.expires_at AS expiresAt FROM member_invitation i";
/** SQL: the inviter of `i` may still invite to its role. */
const isVouched = `EXISTS (SELECT 1 FROM membership b WHERE b.account_id = i.account_id AND b.user_id = i.invited_by AND b.disabled = 0
  AND (b.role = 'owner' OR (b.role = 'admin' AND i.role <> 'owner')))`;
const isOpen = `i.expires_at > ?2 AND i.uses < i.max_uses AND ${isVouched}`;

/** The open invitations of an account, the newest first. */
export const listInvitations = (db: D1Database, accountId: string, now: number): Promise<MemberInvitation[]> =>
  queryRows(db, `SELECT ${columns} WHERE i.account_id = ?1 AND ${isOpen} ORDER BY i.created_at DESC, i.id`, [accountId, now]);

/** The id of the account's invitation with this id or for this address. */
const findId = (db: D1Database, accountId: string, column: "id" | "email", value: string): Promise<string | null> =>
  db.prepare(`SELECT id FROM member_invitation WHERE account_id = ?1 AND ${column} = ?2`).bind(accountId, value).first<string>("id");

/**
 * Makes an invitation by the user `by`; one for an address replaces an earlier one for the same address. The token is returned only here.
 * undefined if the user may not invite to this role, any more, if an admin would replace an owner's invitation to be an owner, or if the
 * account has too many invitations: then nothing has changed.
 */
export async function inviteMember(
  db: D1Database,
  announcer: Announcer,
  by: Actor & { id: string },
  accountId: string,
  given: Pick<MemberInvitation, "role" | "email" | "name" | "maxUses" | "expiresAt">,
): Promise<string | undefined> {
  const token = newId("join_");
  const { role, email, name, maxUses, expiresAt } = given;
  const id = newId("minv_");
  const now = Date.now();
  const replaced = email === null ? null : await findId(db, accountId, "email", email);
  const statements = [
    db
      .prepare(
        `INSERT INTO member_invitation (id, account_id, token_hash, role, email, name, max_uses, invited_by, created_at, expires_at)
         SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10
         WHERE EXISTS (SELECT 1 FROM membership WHERE account_id = ?2 AND user_id = ?8 AND disabled = 0
             AND (role = 'owner' OR (role = 'admin' AND ?4 <> 'owner')))
           AND (?4 = 'owner' OR NOT EXISTS (SELECT 1 FROM member_invitation i JOIN membership o ON o.account_id = ?2 AND o.user_id = ?8
             WHERE i.account_id = ?2 AND i.email = ?5 AND i.role = 'owner' AND i.expires_at > ?9 AND o.role <> 'owner' AND ${isVouched}))
           AND (SELECT count(*) FROM member_invitation i WHERE i.account_id = ?2 AND i.expires_at > ?9 AND i.email IS NOT ?5) < ${maxOpen}
         RETURNING id`,
      )
      .bind(id, accountId, await sha256Hex(token), role, email, name, maxUses, by.id, now, expiresAt),
    auditRowIfChanged(db, accountId, by, {
      act: "member_invited",
      target: id,
      after: {
        role,
        ...(email !== null && { email }),
        ...(name !== null && { name, uses: maxUses }),
        expires_at: Math.floor(expiresAt / 1000),
      },
    }),
    db
      .prepare("DELETE FROM member_invitation WHERE account_id = ?1 AND email = ?2 AND id <> ?3 AND changes() > 0")
      .bind(accountId, email, id),
  ];
  // A restored database does not bring back what was replaced, which may have had another role.
  const [made] = await (replaced === null
    ? db.batch(statements)
    : changeKeys(db, announcer, accountId, statements, { act: "invitation_withdrawn", id: replaced }));
  return made?.results.length === 1 ? token : undefined;
}

/**
 * Withdraws the invitations that a user made and the links that the user may know. Nothing happens while the user is an active owner or admin.
 * With `email`, the address of a user who is to be removed, also those for this address, and nothing happens while the user is a member.
 */
export const withdrawInvitationsBy = (
  db: D1Database,
  accountId: string,
  userId: string,
  email: string | null = null,
): D1PreparedStatement =>
  db
    .prepare(
      `DELETE FROM member_invitation WHERE account_id = ?1 AND (email IS NULL OR invited_by = ?2 OR email = lower(?3))
       AND NOT EXISTS (SELECT 1 FROM membership WHERE account_id = ?1 AND user_id = ?2
         AND (?3 IS NOT NULL OR (disabled = 0 AND role IN ('owner', 'admin'))))`,
    )
    .bind(accountId, userId, email);

/** Withdraws an invitation; false if the account has none of this id. A restored database does not bring it back. */
export async function withdrawInvitation(db: D1Database, announcer: Announcer, by: Actor, accountId: string, id: string): Promise<boolean> {
  if (!(await findId(db, accountId, "id", id))) return false;
  const statements = [
    removeInvitation(db, accountId, id),
    auditRowIfChanged(db, accountId, by, { act: "invitation_withdrawn", target: id }),
  ];
  const [deleted] = await changeKeys(db, announcer, accountId, statements, { act: "invitation_withdrawn", id });
  return deleted?.results.length === 1;
}

/** What a token leads to. */
export interface OpenInvitation extends MemberInvitation {
  accountId: string;
  /** The account's name; null if it has none. */
  accountName: string | null;
}

/** The invitation of a token; undefined if it is unknown, used up, withdrawn or expired, or its account is disabled. */
export const findInvitation = async (db: D1Database, token: string): Promise<OpenInvitation | undefined> =>
  queryRow(
    db,
    `SELECT a.id AS accountId, a.name AS accountName, ${columns} JOIN account a ON a.id = i.account_id
      WHERE i.token_hash = ?1 AND ${isOpen} AND a.disabled = 0 AND a.erased_at IS NULL`,
    [await sha256Hex(token), Date.now()],
  );

/** True if there is an open invitation for this address. */
export const isInvitedMember = (db: D1Database, email: string): Promise<boolean> =>
  hasRow(db, `SELECT 1 FROM member_invitation i WHERE i.email = ?1 AND ${isOpen}`, [email.toLowerCase(), Date.now()]);

/**
 * Makes the user a member by the token's invitation; one for an address only if it is the user's. Returns the account, or undefined: then
 * nothing has changed. A user who is a member already stays as he is, and the invitation is not used up.
 */
export async function join(
  db: D1Database,
  by: Actor & { id: string },
  user: { id: string; email: string },
  token: string,
): Promise<string | undefined> {
  const found = await findInvitation(db, token);
  if (!found || (found.email !== null && found.email !== user.email.toLowerCase())) return undefined;
  const now = Date.now();
  const membershipId = newId("mem_");
  const [joined] = await db.batch([
    db
      .prepare(
        `INSERT INTO membership (id, account_id, user_id, role, created_at)
         SELECT ?3, i.account_id, ?4, i.role, ?2 FROM member_invitation i
         WHERE i.id = ?1 AND ${isOpen} AND (i.email IS NULL OR i.email = ?5)
           AND NOT EXISTS (SELECT 1 FROM membership m WHERE m.account_id = i.account_id AND m.user_id = ?4)
         RETURNING id`,
      )
      .bind(found.id, now, membershipId, user.id, user.email.toLowerCase()),
    auditRowIfChanged(db, found.accountId, by, {
      act: "member_joined",
      target: user.id,
      after: { role: found.role, invitation: found.id },
    }),
    db.prepare("UPDATE member_invitation SET uses = uses + 1 WHERE id = ?1 AND changes() > 0").bind(found.id),
    db.prepare("INSERT INTO wallet (id) SELECT ?1 WHERE changes() > 0").bind(membershipId),
  ]);
  return joined?.results.length === 1 ? found.accountId : undefined;
}

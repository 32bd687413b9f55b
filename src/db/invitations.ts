/** Invitations to an account, in D1. */

import { newId, sha256Hex } from "../ids.ts";

const invitationMs = 7 * 86_400_000;

/** Invites a user to an account for a week. The token is returned only here. */
export async function invite(db: D1Database, accountId: string): Promise<{ token: string; expiresAt: number }> {
  const token = newId("inv_");
  const expiresAt = Date.now() + invitationMs;
  await db
    .prepare("INSERT INTO invitation (token_hash, account_id, expires_at) VALUES (?1, ?2, ?3)")
    .bind(await sha256Hex(token), accountId, expiresAt)
    .run();
  return { token, expiresAt };
}

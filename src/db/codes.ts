/** Prepaid codes: only their hashes are stored. A code is spent or revoked first in the bucket (`storage/code-claims.ts`), then here. */

import { newId, sha256Hex } from "../base/ids.ts";
import { type Actor, auditRow, auditRowIfChanged } from "./audit-log.ts";
import { toUnits } from "./ledger.ts";
import { execute, queryRow, queryRows } from "./query.ts";

export interface Code {
  id: string;
  /** The request that made it, with others of the same amount. */
  series: string;
  /** Millionths. */
  amount: number;
  note: string | null;
  /** Times in milliseconds. */
  createdAt: number;
  expiresAt: number | null;
  redeemedBy: string | null;
  redeemedAt: number | null;
  revokedAt: number | null;
}

const columns = `id, series, amount, note, created_at AS createdAt, expires_at AS expiresAt, redeemed_by AS redeemedBy, redeemed_at AS redeemedAt,
  revoked_at AS revokedAt`;

/** Digits and letters without I, L, O and U, which people confuse. */
const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/** Each is five random bits: a hundred bits cannot be guessed, also without a limit of attempts. */
const codeLength = 20;

/** A new code: four groups of five characters. */
const randomCode = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(codeLength)), (byte) => alphabet[byte % alphabet.length])
    .join("")
    .replace(/.{5}(?=.)/g, "$&-");

/** The hash of a code as a person typed it: in any case, with spaces, with O for 0, I and L for 1. undefined if it cannot be a code. */
export async function hashCode(typed: string): Promise<string | undefined> {
  const plain = typed.toUpperCase().replace(/[\s-]/g, "").replaceAll("O", "0").replace(/[IL]/g, "1");
  return /^[0-9A-HJKMNP-TV-Z]{20}$/.test(plain) ? sha256Hex(plain) : undefined;
}

/** Makes a series of codes of one amount. The texts are returned only here. */
export async function insertCodes(
  db: D1Database,
  { count, amount, note, expiresAt }: { count: number; amount: number; note: string | null; expiresAt: number | null },
  by: Actor,
): Promise<{ series: string; createdAt: number; codes: { id: string; code: string }[] }> {
  const series = newId("codes_");
  const createdAt = Date.now();
  const made = Array.from({ length: count }, () => ({ id: newId("code_"), code: randomCode() }));
  const rows = await Promise.all(made.map(async ({ id, code }) => [id, await hashCode(code)]));
  await db.batch([
    db
      .prepare(
        `INSERT INTO code (id, hash, series, amount, note, created_at, expires_at)
         SELECT value ->> 0, value ->> 1, ?2, ?3, ?4, ?5, ?6 FROM json_each(?1)`,
      )
      .bind(JSON.stringify(rows), series, amount, note, createdAt, expiresAt),
    auditRow(db, "", by, { act: "code_created", target: series, after: { codes: count, amount: toUnits(amount), note } }),
  ]);
  return { series, createdAt, codes: made };
}

export const findCode = (db: D1Database, id: string) => queryRow<Code>(db, `SELECT ${columns} FROM code WHERE id = ?1`, [id]);

export const findCodeByHash = (db: D1Database, hash: string) => queryRow<Code>(db, `SELECT ${columns} FROM code WHERE hash = ?1`, [hash]);

/** A page of codes in the order of their ids, of one series or of all. */
export const listCodes = (
  db: D1Database,
  { limit, after = "", series }: { limit: number; after?: string | undefined; series?: string | undefined },
): Promise<Code[]> =>
  queryRows(db, `SELECT ${columns} FROM code WHERE id > ?1 AND (?2 IS NULL OR series = ?2) ORDER BY id LIMIT ?3`, [
    after,
    series ?? null,
    limit,
  ]);

/** Notes that the account has redeemed the code. */
export const setRedeemed = (db: D1Database, id: string, accountId: string, at: number): Promise<void> =>
  execute(db, "UPDATE code SET redeemed_by = ?2, redeemed_at = coalesce(redeemed_at, ?3) WHERE id = ?1", [id, accountId, at]);

/** Notes that the codes cannot be redeemed any more. */
export const setRevoked = async (db: D1Database, ids: string[], at: number, by: Actor): Promise<void> => {
  await db.batch([
    db
      .prepare(
        `UPDATE code SET revoked_at = ?2 WHERE id IN (SELECT value FROM json_each(?1)) AND redeemed_at IS NULL AND revoked_at IS NULL`,
      )
      .bind(JSON.stringify(ids), at),
    auditRowIfChanged(db, "", by, { act: "code_withdrawn", ...(ids.length === 1 && { target: ids[0] }), after: { codes: ids.length } }),
  ]);
};

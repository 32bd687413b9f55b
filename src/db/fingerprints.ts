/** Fingerprints of the files that tasks made: SHA-256, and what may be said about the file without naming its account. */

import { hexDigest } from "../base/file-id.ts";
import { execute, queryRow } from "./query.ts";

/** Who signed the manifest of a file: its maker, or the gateway. `none`: it has no manifest. */
export type Credentials = "maker" | "gateway" | "none";

/** The files that a completed task made. */
export interface Made {
  /** When the task completed, milliseconds. */
  at: number;
  files: {
    /** SHA-256, base64url without padding */
    digest: string;
    type: string;
    credentials: Credentials;
  }[];
}

export interface Fingerprint {
  /** The kind of the task. */
  kind: string;
  /** The media type of the file. */
  type: string;
  credentials: Credentials;
  /** Milliseconds */
  madeAt: number;
}

/** The same bytes keep the row of the first task that made them. `isWritten` is the condition of the batch that this statement is part of; its parameters are ?1 and ?3. */
export const insertFingerprints = (isWritten: string) =>
  `INSERT INTO fingerprint (sha256, kind, type, credentials, made_at)
  SELECT unhex(value ->> 0), value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each(?2) WHERE ${isWritten} ON CONFLICT DO NOTHING`;

/** Base64url of 32 bytes. */
const isSha256 = (digest: string) => /^[\w-]{43}$/.test(digest);

/**
 * The rows of a task's files as JSON lists, for `insertFingerprints`. A digest of another form is left out: an error here would hold back
 * every settled entry of the account.
 */
export const toFingerprintRows = (kind: string, { at, files }: Made): (string | number)[][] =>
  files.filter(({ digest }) => isSha256(digest)).map(({ digest, type, credentials }) => [hexDigest(digest), kind, type, credentials, at]);

/** The fingerprint with this SHA-256 (hexadecimal), from the nearest replica; undefined if no file with these bytes is known. */
export const readFingerprint = (db: D1Database, sha256: string): Promise<Fingerprint | undefined> =>
  queryRow(
    db.withSession("first-unconstrained"),
    "SELECT kind, type, credentials, made_at AS madeAt FROM fingerprint WHERE sha256 = unhex(?1)",
    [sha256],
  );

/**
 * Deletes those of the next `limit` fingerprints after `after` (hexadecimal, empty for the first) that were made before `before`
 * (milliseconds). Returns the last one that it looked at; undefined after the last of all.
 */
export async function deleteFingerprints(db: D1Database, after: string, before: number, limit: number): Promise<string | undefined> {
  const last = await db
    .prepare("SELECT hex(sha256) AS last FROM fingerprint WHERE sha256 > unhex(?1) ORDER BY sha256 LIMIT 1 OFFSET ?2")
    .bind(after, limit - 1)
    .first<string>("last");
  const to = last === null ? "" : " AND sha256 <= unhex(?3)";
  await execute(db, `DELETE FROM fingerprint WHERE sha256 > unhex(?1) AND made_at < ?2${to}`, [
    after,
    before,
    ...(last === null ? [] : [last]),
  ]);
  return last ?? undefined;
}

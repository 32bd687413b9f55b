/** Characters in D1: those that an account can mention in its prompts. */

import { execute, hasRow, queryRows } from "./query.ts";

export interface Character {
  id: string;
  accountId: string;
  username: string;
  displayName: string;
  model: string;
  /** The provider that created it, and its handle there; null for providers without handles. */
  provider: string;
  handle: string | null;
  pictureType: string;
  pictureDigest: string;
  createdAt: number;
}

/** The column of each field. */
const columns: Record<keyof Character, string> = {
  id: "id",
  accountId: "account_id",
  username: "username",
  displayName: "display_name",
  model: "model",
  provider: "provider",
  handle: "handle",
  pictureType: "picture_type",
  pictureDigest: "picture_digest",
  createdAt: "created_at",
};

const fields = Object.keys(columns) as (keyof Character)[];
const characterColumns = fields.map((field) => `${columns[field]} AS ${field}`).join();

/** True if the account has deleted the character. */
export const isCharacterDeleted = (db: D1Database, id: string): Promise<boolean> =>
  hasRow(db, "SELECT 1 FROM character WHERE id = ?1 AND deleted_at IS NOT NULL", [id]);

/** Stores a character. A repeat changes nothing, also if the character has been deleted since. */
export const insertCharacter = (db: D1Database, character: Character): Promise<void> =>
  execute(
    db,
    `INSERT INTO character (${Object.values(columns).join()}) VALUES (${fields.map(() => "?").join()}) ON CONFLICT DO NOTHING`,
    fields.map((field) => character[field]),
  );

/** The account's characters that meet a condition on further values (?2, ...). */
const select = (db: D1Database, accountId: string, condition: string, ...values: unknown[]): Promise<Character[]> =>
  queryRows(db, `SELECT ${characterColumns} FROM character WHERE account_id = ?1 AND deleted_at IS NULL AND ${condition}`, [
    accountId,
    ...values,
  ]);

/** A page of an account's characters, newest first, after the character `after`. */
export const listCharacters = (db: D1Database, accountId: string, { limit, after }: { limit: number; after?: string | undefined }) => {
  const isAfter = "(?2 IS NULL OR (created_at, id) < (SELECT created_at, id FROM character WHERE id = ?2 AND account_id = ?1))";
  return select(db, accountId, `${isAfter} ORDER BY created_at DESC, id DESC LIMIT ?3`, after ?? null, limit);
};

/** The account's characters with one of these values in a column, oldest first. */
const charactersWith = (db: D1Database, accountId: string, column: "id" | "username", values: string[]) =>
  select(db, accountId, `${column} IN (SELECT value FROM json_each(?2)) ORDER BY created_at, id`, JSON.stringify(values));

/** The newest of an account's characters for each of these usernames. */
export const charactersNamed = async (db: D1Database, accountId: string, usernames: string[]): Promise<Character[]> => {
  const found = await charactersWith(db, accountId, "username", usernames);
  return [...new Map(found.map((character) => [character.username, character])).values()];
};

/** The account's characters with these ids, oldest first. */
export const charactersWithIds = (db: D1Database, accountId: string, ids: string[]): Promise<Character[]> =>
  charactersWith(db, accountId, "id", ids);

export const characterById = async (db: D1Database, accountId: string, id: string): Promise<Character | undefined> =>
  (await select(db, accountId, "id = ?2", id))[0];

/** True if the account has or had the character: the row of a deleted one keeps its place in the list. */
export const hadCharacter = (db: D1Database, accountId: string, id: string): Promise<boolean> =>
  hasRow(db, "SELECT 1 FROM character WHERE account_id = ?1 AND id = ?2", [accountId, id]);

export const deleteCharacter = (db: D1Database, accountId: string, id: string) =>
  db
    .prepare("UPDATE character SET deleted_at = ?3 WHERE id = ?1 AND account_id = ?2 AND deleted_at IS NULL")
    .bind(id, accountId, Date.now())
    .run();

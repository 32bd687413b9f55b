/** Characters in D1: those that an account can mention in its prompts. */

export interface Character {
  id: string;
  accountId: string;
  username: string;
  displayName: string;
  model: string;
  /** The provider that created it, and its handle there. Null in older characters, and for providers without handles. */
  provider: string | null;
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
export const isCharacterDeleted = async (db: D1Database, id: string): Promise<boolean> =>
  (await db.prepare("SELECT 1 FROM character WHERE id = ?1 AND deleted_at IS NOT NULL").bind(id).first()) !== null;

/** Stores a character. A repeat changes nothing, also if the character has been deleted since. */
export const insertCharacter = (db: D1Database, character: Character): Promise<unknown> =>
  db
    .prepare(`INSERT INTO character (${Object.values(columns).join()}) VALUES (${fields.map(() => "?").join()}) ON CONFLICT DO NOTHING`)
    .bind(...fields.map((field) => character[field]))
    .run();

/** A page of an account's characters, newest first, after the character `after`. */
export const listCharacters = async (db: D1Database, accountId: string, page: { limit: number; after?: string | undefined }) =>
  (
    await db
      .prepare(
        `SELECT ${characterColumns} FROM character WHERE account_id = ?1 AND deleted_at IS NULL
           AND (?2 IS NULL OR (created_at, id) < (SELECT created_at, id FROM character WHERE id = ?2 AND account_id = ?1))
         ORDER BY created_at DESC, id DESC LIMIT ?3`,
      )
      .bind(accountId, page.after ?? null, page.limit)
      .run<Character>()
  ).results;

/** The newest of an account's characters for each of these usernames. */
export async function charactersNamed(db: D1Database, accountId: string, usernames: string[]): Promise<Character[]> {
  const { results } = await db
    .prepare(
      `SELECT ${characterColumns} FROM character
       WHERE account_id = ?1 AND deleted_at IS NULL AND username IN (SELECT value FROM json_each(?2)) ORDER BY created_at, id`,
    )
    .bind(accountId, JSON.stringify(usernames))
    .run<Character>();
  return [...new Map(results.map((character) => [character.username, character])).values()];
}

/** The account's character of this id, or null. */
export const characterById = (db: D1Database, accountId: string, id: string): Promise<Character | null> =>
  db
    .prepare(`SELECT ${characterColumns} FROM character WHERE id = ?1 AND account_id = ?2 AND deleted_at IS NULL`)
    .bind(id, accountId)
    .first<Character>();

export const deleteCharacter = (db: D1Database, accountId: string, id: string) =>
  db
    .prepare("UPDATE character SET deleted_at = ?3 WHERE id = ?1 AND account_id = ?2 AND deleted_at IS NULL")
    .bind(id, accountId, Date.now())
    .run();

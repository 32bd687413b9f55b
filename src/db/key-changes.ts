/**
 * Changes of an account's keys. Each is announced to its wallet object first, so that a reader of a replica can detect that the replica
 * lags.
 */

/** Announces a change of the account's keys to its wallet object; returns the change's revision. */
export type Announce = (accountId: string) => Promise<number>;

const maxAttempts = 5;

/** For a minute after a deployment a Worker or object may run the previous version; until then no replica is read. */
const unlessAbsent = (error: unknown): number => {
  if (String(error).includes("does not implement")) return Date.now();
  throw error;
};

/** Announces a change and makes it in one transaction. If a change that was announced later was written first, announces it again. Throws if it did not take effect or its outcome is unknown. */
export async function changeKeys<T>(
  db: D1Database,
  announce: Announce,
  accountId: string,
  statements: D1PreparedStatement[],
): Promise<D1Result<T>[]> {
  for (let attempt = 1; ; attempt++) {
    const revision = await announce(accountId).catch(unlessAbsent);
    const mark = db.prepare("UPDATE account SET keys_revision = ?2 WHERE id = ?1").bind(accountId, revision);
    try {
      return (await db.batch<T>([mark, ...statements])).slice(1);
    } catch (error) {
      if (attempt === maxAttempts || !String(error).includes("keys_revision")) throw error;
    }
  }
}

/** The revision of the last change in the primary database. */
export const readKeysRevision = async (db: D1Database, accountId: string): Promise<number> =>
  (await db.prepare("SELECT keys_revision FROM account WHERE id = ?1").bind(accountId).first<number>("keys_revision")) ?? 0;

/** Alerts in D1: one row for each stable name, with the time of its latest start. */

export interface Alert {
  name: string;
  /** Milliseconds */
  beganAt: number;
  /** null while the cause lasts */
  endedAt: number | null;
  /** Some of the ids that the alert is about. */
  causes: string[];
  /** The last change that was reported to the receivers. */
  told: "began" | "ended" | null;
}

/** All alerts that have ever started, by name. */
export async function listAlerts(db: D1Database): Promise<Alert[]> {
  const { results } = await db
    .prepare("SELECT name, began_at AS beganAt, ended_at AS endedAt, causes, told FROM alert ORDER BY name")
    .run<Omit<Alert, "causes"> & { causes: string }>();
  return results.map((row) => ({ ...row, causes: JSON.parse(row.causes) as string[] }));
}

export const writeAlert = async (db: D1Database, { name, beganAt, endedAt, causes, told }: Alert): Promise<void> => {
  await db
    .prepare(
      `INSERT INTO alert (name, began_at, ended_at, causes, told) VALUES (?1, ?2, ?3, ?4, ?5)
       ON CONFLICT DO UPDATE SET began_at = excluded.began_at, ended_at = excluded.ended_at, causes = excluded.causes, told = excluded.told`,
    )
    .bind(name, beganAt, endedAt, JSON.stringify(causes), told)
    .run();
};

/** The state of the check of open tasks, as JSON; undefined before the first run. */
export const readProgress = async (db: D1Database): Promise<string | undefined> =>
  (await db.prepare("SELECT state FROM check_progress WHERE id = 1").first<string>("state")) ?? undefined;

export const writeProgress = async (db: D1Database, state: string): Promise<void> => {
  await db
    .prepare("INSERT INTO check_progress (id, state) VALUES (1, ?1) ON CONFLICT DO UPDATE SET state = excluded.state")
    .bind(state)
    .run();
};

/**
 * The next accounts in the order of their ids, and which of them may have open tasks. Reads `limit` accounts and their wallets; at most
 * `busyLimit` accounts are busy, and the last busy one is then the last account.
 */
export async function nextBusyAccounts(
  db: D1Database,
  after: string,
  { limit, busyLimit }: { limit: number; busyLimit: number },
): Promise<{ busy: string[]; last: string | undefined }> {
  const { results } = await db
    .prepare(
      `SELECT a.id, w.granted > 0 OR w.open_tasks > 0 AS isBusy FROM account a CROSS JOIN wallet w ON w.id = a.id
       WHERE a.id > ?1 ORDER BY a.id LIMIT ?2`,
    )
    .bind(after, limit)
    .run<{ id: string; isBusy: 0 | 1 }>();
  const busy = results.filter(({ isBusy }) => isBusy === 1).map(({ id }) => id);
  if (busy.length > busyLimit) return { busy: busy.slice(0, busyLimit), last: busy[busyLimit - 1] };
  return { busy, last: results.length === limit ? results.at(-1)?.id : undefined };
}

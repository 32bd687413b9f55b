/** Sums of ended tasks and chats of all accounts, for the status page: by five minutes, kind and duration. Not related to money. */

const slotMs = 300_000;
/** How long the sums are kept. */
const keptMs = 86_400_000;

/** One kind in a period. */
export interface KindOutcome {
  kind: string;
  /** The share of completed tasks, 0 to 1, without those that the caller ended or whose input caused the failure. */
  completionRate: number;
  /** The median duration of completed ones in seconds, to a tenth; null if none completed. */
  medianSeconds: number | null;
}

/** The duration's class: classes are a tenth apart, so that an hour has few rows. */
export const toClass = (ms: number): number => Math.round(8 * Math.log2(1 + Math.max(0, ms) / 1000));
const toSeconds = (took: number) => Math.round(10 * (2 ** (took / 8) - 1)) / 10;

/** Completion and duration of each kind since `since` (milliseconds). Reads the sums of that time, not its tasks. */
export async function readOutcomes(db: D1Database, since: number): Promise<KindOutcome[]> {
  const { results } = await db
    .prepare(
      `SELECT kind, is_completed AS isCompleted, took, sum(tasks) AS tasks FROM outcome_sum
       WHERE slot > ?1 - ${slotMs} GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`,
    )
    .bind(since)
    .run<{ kind: string; isCompleted: 0 | 1; took: number; tasks: number }>();
  return [...new Set(results.map(({ kind }) => kind))].map((kind) => {
    const rows = results.filter((row) => row.kind === kind);
    const completed = rows.filter(({ isCompleted }) => isCompleted === 1);
    const count = (of: typeof rows) => of.reduce((sum, { tasks }) => sum + tasks, 0);
    return { kind, completionRate: Math.round((1000 * count(completed)) / count(rows)) / 1000, medianSeconds: median(completed) };
  });
}

/** The median duration; `rows` in the order of durations. */
function median(rows: { took: number; tasks: number }[]): number | null {
  const half = rows.reduce((sum, { tasks }) => sum + tasks, 0) / 2;
  let sum = 0;
  for (const { took, tasks } of rows) if ((sum += tasks) >= half) return toSeconds(took);
  return null;
}

/** Deletes sums that no page reads any more. */
export const deleteOutcomes = async (db: D1Database, now: number): Promise<void> => {
  await db
    .prepare("DELETE FROM outcome_sum WHERE slot < ?1")
    .bind(now - keptMs)
    .run();
};

/** An account's charges in a range of days, from the daily sums; by reference from the tasks that have one. Amounts in millionths, days in UTC. */

/** The first milliseconds of the first and the last day. */
export interface Span {
  first: number;
  last: number;
}

/** The possible groups of usage. `key` is the wallet of a key, which rotated keys share. */
export type Column = "day" | "model" | "key" | "reference";

/** One group: the requested columns, and the totals of tasks and chats submitted then. */
export interface Used {
  /** Its first millisecond. */
  day?: number;
  model?: string;
  key?: string;
  /** null for everything without a reference. */
  reference?: string | null;
  charged: number;
  returned: number;
  completed: number;
  failed: number;
}

const dayMs = 86_400_000;
/** The maximum difference between the two recorded times of a submission. */
const slackMs = 300_000;
const sums = ["charged", "returned", "completed", "failed"] as const;

/** Usage by these columns, in their order. Reads a row per day, model and key. */
export async function readUsage(db: D1Database, accountId: string, span: Span, columns: readonly Column[]): Promise<Used[]> {
  return (await totals(db, accountId, span, columns).run<Used>()).results;
}

function totals(db: D1Database, accountId: string, { first, last }: Span, columns: readonly Column[]): D1PreparedStatement {
  const names = columns.map((column) => (column === "key" ? "key_id AS key" : column));
  const order = columns.map((_, at) => at + 1).join(", ");
  return db
    .prepare(
      `SELECT ${[...names, ...sums.map((sum) => `sum(${sum}) AS ${sum}`)].join(", ")} FROM spending
       WHERE account_id = ?1 AND day BETWEEN ?2 AND ?3 ${order && `GROUP BY ${order} ORDER BY ${order}`}`,
    )
    .bind(accountId, first, last);
}

/** The archive's share in usage by reference: the statement that selects its files, and a function that adds their entries to D1's groups, at most `left` of them. */
interface ArchiveShare {
  parts: D1PreparedStatement;
  join: (groups: Used[], parts: unknown[], left: number) => Promise<Used[] | "too_many">;
}

/**
 * Usage by reference and these columns, followed by everything without a reference under null. Reads two rows per task with a reference:
 * `too_many` if there are more than `most`.
 */
export async function readReferencedUsage(
  db: D1Database,
  accountId: string,
  span: Span,
  columns: readonly Exclude<Column, "reference">[],
  most: number,
  archive?: ArchiveShare,
): Promise<Used[] | "too_many"> {
  const expressions = { day: `e.at / ${dayMs} * ${dayMs} AS day`, model: "e.model", key: "e.key_id AS key" };
  const named = `SELECT reference, task_id FROM task_reference WHERE account_id = ?1 AND at BETWEEN ?2 - ${slackMs} AND ?3 + ${dayMs + slackMs}`;
  const groups = ["r.reference", ...columns.map((column) => expressions[column])];
  const order = groups.map((_, at) => at + 1).join(", ");
  // One transaction: the rest of the totals is exactly the usage without a reference.
  const read = await db.batch<Used & { tasks: number }>([
    db.prepare(`SELECT count(*) AS tasks FROM (${named} LIMIT ?4)`).bind(accountId, span.first, span.last, most + 1),
    db
      .prepare(
        `SELECT ${groups.join(", ")}, sum(e.charged) AS charged, sum(e.held - e.charged) AS returned,
           sum(e.outcome = 'completed') AS completed, sum(e.outcome <> 'completed') AS failed
         FROM (${named} LIMIT ?4) r JOIN entry e ON e.task_id = r.task_id AND e.step = 'reserve'
         WHERE e.closed_at IS NOT NULL AND e.at >= ?2 AND e.at < ?3 + ${dayMs} GROUP BY ${order} ORDER BY ${order}`,
      )
      .bind(accountId, span.first, span.last, most),
    totals(db, accountId, span, columns),
    ...(archive ? [archive.parts] : []),
  ]);
  const [[count] = [], written = [], all = [], parts = []] = read.map(({ results }) => results);
  const left = most - (count?.tasks ?? 0);
  if (left < 0) return "too_many";
  const referenced = archive ? await archive.join(written, parts, left) : written;
  return referenced === "too_many" ? referenced : [...referenced, ...withoutReference(all, referenced, columns)];
}

/** The totals minus the tasks with a reference. */
function withoutReference(all: Used[], referenced: Used[], columns: readonly Column[]): Used[] {
  const toName = (used: Used) => JSON.stringify(columns.map((column) => used[column]));
  // Without columns, an account without usage has one row of nulls as its totals.
  const rest = new Map(all.filter(({ charged }) => charged !== null).map((used) => [toName(used), { reference: null, ...used }]));
  for (const used of referenced) {
    const group = rest.get(toName(used));
    if (group) for (const sum of sums) group[sum] -= used[sum];
  }
  return [...rest.values()].filter(({ completed, failed }) => completed > 0 || failed > 0);
}

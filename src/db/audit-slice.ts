/** A slice of an account's audit: its rows in one transaction, their sums, and the comparison of all sums with the wallets. */

import { dayMs } from "../base/times.ts";
import { ofAccount } from "./ledger.ts";

/** After this many days no task of a day can be open or settled late, so the day's sums do not change any more. */
const openDays = 3;
/** The maximum number of rows that one scan of a slice reads. */
const pageRows = 150;

export interface Drift {
  /** The id of an account or key */
  id: string;
  reserved: number;
  used: number;
  ledgerReserved: number;
  ledgerUsed: number;
}

interface Sums {
  /** Millionths charged, by the entries and by the daily sums. */
  entries: number;
  days: number;
}

type Place = { at: number; taskId: string } | "done";

/** The progress of an account's check. Entries submitted before `until` no longer change, and are summed up slice by slice. */
export interface Walk {
  accountId: string;
  until: number;
  /** The last entries that were read, of tasks and of chats; "done" after the last one. */
  places: [Place, Place];
  day: { day: number; model: string; keyId: string } | "done";
  /** By key. */
  sums: Record<string, Sums>;
  /** How many archived entries the sums contain; undefined before the first slice. */
  archived?: number | undefined;
  /** True for the repeated walk after a difference: changes between two slices may cause one, so it is reported only if found twice. */
  isSecond: boolean;
  /** True if the walk was restarted because entries were archived before it reached them. */
  isOvertaken?: boolean;
}

/** The beginning of an account's check. */
export const newWalk = (accountId: string, isSecond = false): Walk => ({
  accountId,
  until: (Math.floor(Date.now() / dayMs) - openDays) * dayMs,
  places: [
    { at: -1, taskId: "" },
    { at: -1, taskId: "" },
  ],
  day: { day: -1, model: "", keyId: "" },
  sums: {},
  isSecond,
});

interface EntryRow {
  at: number;
  taskId: string;
  keyId: string;
  charged: number;
}
interface DayRow {
  day: number;
  model: string;
  keyId: string;
  charged: number;
}
interface WalletRow {
  id: string;
  used: number;
  granted: number;
}
interface ArchivedRow {
  keyId: string;
  entries: number;
  charged: number;
}
export interface Slice {
  /** The archive's sums by key. */
  archived: ArchivedRow[];
  /** One row: when the latest archived entry was submitted, in milliseconds; null if the archive is empty. */
  archivedTo: { at: number | null }[];
  entries: EntryRow[][];
  days: DayRow[];
  wallets: WalletRow[];
  recentDays: Omit<DayRow, "day" | "model">[];
  recent: EntryRow[][];
}

/**
 * Adds the rows of a slice to the sums and advances the scans. True if all scans have ended; "overtaken" if entries were archived that the
 * scans had not reached, so that the sums contain them neither from D1 nor from the archive.
 */
export function advance(walk: Walk, { entries, days, archived, archivedTo }: Slice): boolean | "overtaken" {
  const count = archived.reduce((sum, row) => sum + row.entries, 0);
  if (walk.archived === undefined) for (const { keyId, charged } of archived) sumsFor(walk, keyId).entries += charged;
  else if (walk.archived !== count) {
    const to = archivedTo[0]?.at ?? 0;
    if (walk.archived > count || !walk.places.every((place) => place === "done" || place.at > to)) return "overtaken";
  }
  walk.archived = count;
  for (const [side, rows] of entries.entries()) {
    for (const { keyId, charged } of rows) sumsFor(walk, keyId).entries += charged;
    const last = rows.at(-1);
    if (walk.places[side] !== "done") walk.places[side] = last && rows.length === pageRows ? { at: last.at, taskId: last.taskId } : "done";
  }
  for (const { keyId, charged } of days) sumsFor(walk, keyId).days += charged;
  const last = days.at(-1);
  if (walk.day !== "done") walk.day = last && days.length === pageRows ? { day: last.day, model: last.model, keyId: last.keyId } : "done";
  return walk.day === "done" && walk.places.every((place) => place === "done");
}

const sumsFor = ({ sums }: Walk, keyId: string): Sums => (sums[keyId] ??= { entries: 0, days: 0 });

/** One batch is one transaction: its reads are consistent. */
export async function readSlice(db: D1Database, { accountId, until, places, day }: Walk): Promise<Slice> {
  const entries = (more: string) =>
    `SELECT at, task_id AS taskId, key_id AS keyId, charged FROM entry INDEXED BY entry_by_account WHERE ${ofAccount()} AND ${more} LIMIT ${pageRows}`;
  const scanFrom = (side: 0 | 1) => {
    const place = places[side];
    const { at, taskId } = place === "done" ? { at: until, taskId: "" } : place;
    return db
      .prepare(entries(`(kind = 'chat') = ${side} AND at >= ?2 AND at < ?3 AND (at > ?2 OR task_id > ?4) ORDER BY at, task_id`))
      .bind(accountId, at, until, taskId);
  };
  const readRecent = (side: 0 | 1) => db.prepare(entries(`(kind = 'chat') = ${side} AND at >= ?2`)).bind(accountId, until);
  const from = day === "done" ? { day: until, model: "", keyId: "" } : day;
  const read = await db.batch([
    scanFrom(0),
    scanFrom(1),
    db
      .prepare(
        `SELECT day, model, key_id AS keyId, charged FROM spending
         WHERE account_id = ?1 AND (day, model, key_id) > (?2, ?3, ?4) AND day < ?5 ORDER BY day, model, key_id LIMIT ${pageRows}`,
      )
      .bind(accountId, from.day, from.model, from.keyId, until),
    db
      .prepare("SELECT id, used, granted FROM wallet WHERE id = ?1 OR id IN (SELECT id FROM api_key WHERE account_id = ?1)")
      .bind(accountId),
    db
      .prepare("SELECT key_id AS keyId, sum(charged) AS charged FROM spending WHERE account_id = ?1 AND day >= ?2 GROUP BY 1")
      .bind(accountId, until),
    readRecent(0),
    readRecent(1),
    db.prepare("SELECT key_id AS keyId, entries, charged FROM archive_sum WHERE account_id = ?1").bind(accountId),
    db
      .prepare(
        `SELECT max(last_at) AS at FROM (SELECT last_at FROM archive_part WHERE account_id = ?1 ORDER BY month DESC, part DESC LIMIT 10)`,
      )
      .bind(accountId),
  ]);
  const [tasks, chats, days, wallets, recentDays, recentTasks, recentChats, archived, archivedTo] = read.map(({ results }) => results);
  return {
    archived,
    archivedTo,
    entries: [tasks, chats],
    days,
    wallets,
    recentDays,
    recent: [recentTasks, recentChats],
  } as unknown as Slice;
}

/** Every wallet of the account that disagrees with its entries, or with the daily sums. */
export function compare(walk: Walk, { wallets, recentDays, recent }: Slice): Drift[] {
  // Entries of recent days are compared if one page contains all of them; otherwise when their days are over.
  const hasAll = recent.every((rows) => rows.length < pageRows);
  const keys = new Set([...Object.keys(walk.sums), ...recentDays.map(({ keyId }) => keyId)]);
  for (const { keyId } of recent.flat()) keys.add(keyId);
  const byKey = [...keys].map((id) => {
    const sums = walk.sums[id] ?? { entries: 0, days: 0 };
    const recentCharges = recentDays.find(({ keyId }) => keyId === id)?.charged ?? 0;
    const recentEntries = recent.flat().reduce((sum, { keyId, charged }) => sum + (keyId === id ? charged : 0), 0);
    return {
      id,
      days: sums.days + recentCharges,
      entries: sums.entries + (hasAll ? recentEntries : recentCharges),
    };
  });
  const whole = { id: walk.accountId, days: 0, entries: 0 };
  for (const key of byKey) {
    whole.days += key.days;
    whole.entries += key.entries;
  }
  const ledger = new Map([whole, ...byKey].map((sums) => [sums.id, sums]));
  for (const { id } of wallets) if (!ledger.has(id)) ledger.set(id, { id, days: 0, entries: 0 });
  return [...ledger.values()].flatMap(({ id, days, entries }) => {
    const { used, granted } = wallets.find((wallet) => wallet.id === id) ?? { used: 0, granted: 0 };
    // The grant is the account's, and is compared by its object.
    const reserved = id === walk.accountId ? 0 : granted;
    if (reserved === 0 && used === days && used === entries) return [];
    return [{ id, reserved, used, ledgerReserved: 0, ledgerUsed: used === days ? entries : days }];
  });
}

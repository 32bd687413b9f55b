/** The audit: compares each wallet with its entries, in slices of few rows, with a checkpoint from which the next call continues. */

const dayMs = 86_400_000;
/** Days after which no task of a day is open or settled late any more: its sums do not change. */
const openDays = 3;
/** Slices of one call by default; each is one transaction of nine statements, and an invocation may run a thousand. */
const slicesPerCall = 100;
/** Rows of one scan in one slice. */
const pageRows = 150;

interface Drift {
  /** The id of an account or key */
  id: string;
  reserved: number;
  used: number;
  ledgerReserved: number;
  ledgerUsed: number;
}

/** The findings since the audit began its round over all accounts. Amounts in millionths. */
export interface Audit {
  /** Accounts checked in this round: all of them when it is complete */
  accounts: number;
  tasksOpen: number;
  reserved: number;
  /** Every wallet whose sums disagree with the ledger; for accounts that this round has not reached, the last round's findings. */
  drift: Drift[];
  entries: number;
  isComplete: boolean;
  /** The account that is being checked, or null between two accounts */
  current: string | null;
  startedAt: number;
}

/** What an account's wallet object says of itself: amounts in millionths, and whether D1 has granted what it holds. */
export interface WalletSums {
  granted: number;
  isGrantRight: boolean;
  held: number;
  /** Open tasks and chats */
  open: number;
}

type AskWallet = (accountId: string) => Promise<WalletSums>;

interface Sums {
  /** Millionths charged, by the entries and by the daily sums. */
  entries: number;
  days: number;
}

/** The progress of an account's check. Entries submitted before `until` no longer change, and are summed up slice by slice. */
interface Walk {
  accountId: string;
  until: number;
  /** The last entries that were read, of tasks and of chats; "done" after the last one. */
  places: ({ at: number; taskId: string } | "done")[];
  day: { day: number; model: string; keyId: string } | "done";
  /** By key. */
  sums: Record<string, Sums>;
  /** A difference that may come from a change between two slices is read again before it is reported. */
  isSecond: boolean;
}

interface State extends Omit<Audit, "isComplete" | "current"> {
  /** The last account that was checked. */
  after: string;
  walk?: Walk | undefined;
  isComplete: boolean;
  /** The findings of the previous round. */
  earlier: { drift: Drift[]; owners: string[] };
  /** The account of each drift. */
  owners: string[];
}

const newWalk = (accountId: string, isSecond = false): Walk => ({
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

/**
 * Goes on with the audit (`askWallet` reaches the object of an account), at most `maxSlices` slices, and begins a new round after a complete one. With `accountId` it
 * checks that account alone, whole, and leaves the round as it is. Throws when D1 does not answer; nothing but the slices of
 * this call has to be repeated.
 */
export async function audit(db: D1Database, askWallet: AskWallet, accountId?: string, maxSlices = slicesPerCall): Promise<Audit> {
  const stored = accountId === undefined ? await readState(db) : undefined;
  const state = stored && !stored.isComplete ? stored : newState(stored);
  if (accountId !== undefined) {
    const found = await db.prepare("SELECT id FROM account WHERE id = ?1").bind(accountId).first();
    if (found) for (state.walk = newWalk(accountId); state.walk;) await slice(db, state, askWallet);
    return toAudit({ ...state, isComplete: true });
  }
  let slices = maxSlices;
  while (slices > 0 && !state.isComplete) {
    const ids = state.walk ? [state.walk.accountId] : await nextAccounts(db, state.after, slices);
    state.isComplete = ids.length === 0;
    for (const id of ids) for (state.walk ??= newWalk(id); state.walk && slices > 0; slices--) await slice(db, state, askWallet);
  }
  await db
    .prepare("INSERT INTO audit_progress (id, state) VALUES (1, ?1) ON CONFLICT DO UPDATE SET state = excluded.state")
    .bind(JSON.stringify(state))
    .run();
  return toAudit(state);
}

const newState = (last: State | undefined): State => ({
  accounts: 0,
  tasksOpen: 0,
  reserved: 0,
  drift: [],
  entries: 0,
  startedAt: Date.now(),
  after: "",
  isComplete: false,
  owners: [],
  earlier: { drift: last?.drift ?? [], owners: last?.owners ?? [] },
});

function toAudit({ accounts, tasksOpen, reserved, drift, entries, isComplete, startedAt, walk, after, earlier }: State): Audit {
  const ahead = isComplete ? [] : earlier.drift.filter((_, at) => (earlier.owners[at] ?? "") > after);
  return { accounts, tasksOpen, reserved, drift: [...drift, ...ahead], entries, isComplete, current: walk?.accountId ?? null, startedAt };
}

async function readState(db: D1Database): Promise<State | undefined> {
  const text = await db.prepare("SELECT state FROM audit_progress WHERE id = 1").first<string>("state");
  return text === null ? undefined : (JSON.parse(text) as State);
}

/** The ids of accounts after this one, in their order, erased ones included. */
export const nextAccounts = async (db: D1Database, after: string, limit: number) =>
  (await db.prepare("SELECT id FROM account WHERE id > ?1 ORDER BY id LIMIT ?2").bind(after, limit).run<{ id: string }>()).results.map(
    ({ id }) => id,
  );

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
  reserved: number;
  used: number;
  granted: number;
}
interface OpenRow {
  keyId: string;
  held: number;
  tasks: number;
}
interface Slice {
  entries: EntryRow[][];
  days: DayRow[];
  wallets: WalletRow[];
  open: OpenRow[];
  recentDays: Omit<DayRow, "day" | "model">[];
  recent: EntryRow[][];
}

/** Reads one slice of the account's rows in one transaction, and ends the scan if that was the last one. */
async function slice(db: D1Database, state: State, askWallet: AskWallet): Promise<void> {
  const walk = state.walk!;
  const read = await readSlice(db, walk);
  for (const [side, rows] of read.entries.entries()) {
    state.entries += rows.length;
    for (const { keyId, charged } of rows) sumsOf(walk, keyId).entries += charged;
    const last = rows.at(-1);
    if (walk.places[side] !== "done") walk.places[side] = last && rows.length === pageRows ? { at: last.at, taskId: last.taskId } : "done";
  }
  for (const { keyId, charged } of read.days) sumsOf(walk, keyId).days += charged;
  const last = read.days.at(-1);
  if (walk.day !== "done")
    walk.day = last && read.days.length === pageRows ? { day: last.day, model: last.model, keyId: last.keyId } : "done";
  if (walk.day !== "done" || walk.places.some((place) => place !== "done")) return;

  const account = read.wallets.find(({ id }) => id === walk.accountId);
  const drift = compare(walk, read);
  // An object that D1 granted nothing holds nothing.
  const wallet = account && account.granted > 0 ? await askWallet(walk.accountId) : undefined;
  if (wallet && !wallet.isGrantRight)
    drift.push({
      id: walk.accountId,
      reserved: account!.granted,
      used: account!.used,
      ledgerReserved: wallet.granted,
      ledgerUsed: account!.used,
    });
  if (drift.length > 0 && !walk.isSecond) {
    state.walk = newWalk(walk.accountId, true);
    return;
  }
  state.entries += read.recent.flat().length;
  state.drift.push(...drift);
  state.owners.push(...drift.map(() => walk.accountId));
  state.accounts++;
  state.tasksOpen += read.open.reduce((sum, { tasks }) => sum + tasks, wallet?.open ?? 0);
  state.reserved += (account ? account.reserved - account.granted : 0) + (wallet?.held ?? 0);
  state.after = walk.accountId;
  state.walk = undefined;
}

const sumsOf = ({ sums }: Walk, keyId: string): Sums => (sums[keyId] ??= { entries: 0, days: 0 });

/** One batch is one transaction: its reads are consistent. */
async function readSlice(db: D1Database, { accountId, until, places, day }: Walk): Promise<Slice> {
  const entries = (more: string) =>
    `SELECT at, task_id AS taskId, key_id AS keyId, charged FROM entry INDEXED BY entry_by_account WHERE account_id = ?1 AND step = 'reserve' AND ${more} LIMIT ${pageRows}`;
  const walkOf = (side: 0 | 1) => {
    const place = places[side]!;
    const { at, taskId } = place === "done" ? { at: until, taskId: "" } : place;
    return db
      .prepare(entries(`(kind = 'chat') = ${side} AND at >= ?2 AND at < ?3 AND (at > ?2 OR task_id > ?4) ORDER BY at, task_id`))
      .bind(accountId, at, until, taskId);
  };
  const recentOf = (side: 0 | 1) => db.prepare(entries(`(kind = 'chat') = ${side} AND at >= ?2`)).bind(accountId, until);
  const from = day === "done" ? { day: until, model: "", keyId: "" } : day;
  const read = await db.batch([
    walkOf(0),
    walkOf(1),
    db
      .prepare(
        `SELECT day, model, key_id AS keyId, charged FROM spending
         WHERE account_id = ?1 AND (day, model, key_id) > (?2, ?3, ?4) AND day < ?5 ORDER BY day, model, key_id LIMIT ${pageRows}`,
      )
      .bind(accountId, from.day, from.model, from.keyId, until),
    db
      .prepare("SELECT id, reserved, used, granted FROM wallet WHERE id = ?1 OR id IN (SELECT id FROM api_key WHERE account_id = ?1)")
      .bind(accountId),
    db
      .prepare(
        `SELECT key_id AS keyId, sum(held) AS held, count(*) AS tasks FROM entry INDEXED BY entry_open
         WHERE account_id = ?1 AND step = 'reserve' AND closed_at IS NULL GROUP BY key_id`,
      )
      .bind(accountId),
    db
      .prepare("SELECT key_id AS keyId, sum(charged) AS charged FROM spending WHERE account_id = ?1 AND day >= ?2 GROUP BY 1")
      .bind(accountId, until),
    recentOf(0),
    recentOf(1),
  ]);
  const [tasks, chats, days, wallets, open, recentDays, recentTasks, recentChats] = read.map(({ results }) => results);
  return { entries: [tasks, chats], days, wallets, open, recentDays, recent: [recentTasks, recentChats] } as unknown as Slice;
}

/** Every wallet of the account that disagrees with its entries, or with the daily sums. */
function compare(walk: Walk, { wallets, open, recentDays, recent }: Slice): Drift[] {
  // Entries of recent days are compared if one page has them all: the others when their days are over.
  const hasAll = recent.every((rows) => rows.length < pageRows);
  const keys = new Set([...Object.keys(walk.sums), ...open.map(({ keyId }) => keyId), ...recentDays.map(({ keyId }) => keyId)]);
  for (const { keyId } of recent.flat()) keys.add(keyId);
  const byKey = [...keys].map((id) => {
    const sums = walk.sums[id] ?? { entries: 0, days: 0 };
    const recentCharges = recentDays.find(({ keyId }) => keyId === id)?.charged ?? 0;
    const recentEntries = recent.flat().reduce((sum, { keyId, charged }) => sum + (keyId === id ? charged : 0), 0);
    return {
      id,
      held: open.find(({ keyId }) => keyId === id)?.held ?? 0,
      days: sums.days + recentCharges,
      entries: sums.entries + (hasAll ? recentEntries : recentCharges),
    };
  });
  const whole = { id: walk.accountId, held: 0, days: 0, entries: 0 };
  for (const key of byKey) {
    whole.held += key.held;
    whole.days += key.days;
    whole.entries += key.entries;
  }
  const ledger = new Map([whole, ...byKey].map((sums) => [sums.id, sums]));
  for (const { id } of wallets) if (!ledger.has(id)) ledger.set(id, { id, held: 0, days: 0, entries: 0 });
  return [...ledger.values()].flatMap(({ id, held, days, entries }) => {
    const { reserved: all, used, granted } = wallets.find((wallet) => wallet.id === id) ?? { reserved: 0, used: 0, granted: 0 };
    // What is granted to the account's object is its own to explain.
    const reserved = all - granted;
    if (reserved === held && used === days && used === entries) return [];
    return [{ id, reserved, used, ledgerReserved: held, ledgerUsed: used === days ? entries : days }];
  });
}

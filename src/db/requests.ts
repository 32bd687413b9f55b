/** The log of requests that callers see: in pages, bounded for each account, without content. A page is one row, so a batch of requests is one write. */

/** A caller's request as the gateway reports it, without query, body and headers. */
export interface LoggedRequest {
  account: string;
  /** Milliseconds since the epoch. */
  at: number;
  request: string;
  /** Method and path. */
  path: string;
  status: number;
  /** The error's code, or `ok`. */
  outcome: string;
  ms: number;
  key?: string | undefined;
  task?: string | undefined;
  model?: string | undefined;
}

/** A request in the log. */
export type RequestEntry = Omit<LoggedRequest, "account">;

export interface RequestFilter {
  /** By status: `succeeded` is 2xx and 3xx, `refused` 4xx, `failed` 5xx. */
  result?: "succeeded" | "refused" | "failed" | undefined;
  /** The key's wallet. */
  key?: string | undefined;
  /** Only requests with these keys' wallets. */
  keys?: string[] | undefined;
  /** A part of a request id or a task id. */
  text?: string | undefined;
}

/** How long requests are kept. */
export const keptDays = 3;
const keptMs = keptDays * 86_400_000;
/** A page is closed when it has this many requests or is this old; pages are deleted as a whole. */
const pageSize = 100;
const pageMs = 7_200_000;
/** How many of an account's newest pages are kept: at least four thousand requests of a busy account, and all of three days otherwise. */
const maxPages = 40;
/**
 * Several isolates write their requests one after the other: a page may contain requests that are this much older than the last ones of the
 * page before it.
 */
const overlapMs = 60_000;
/** The number of pages that one query reads. */
const pagesRead = 6;
const maxStatements = 50;

/** Writes requests of several accounts, newest last. */
export async function writeRequests(db: D1Database, requests: LoggedRequest[]): Promise<void> {
  const statements: D1PreparedStatement[] = [];
  for (const [account, own] of Map.groupBy(requests, (one) => one.account)) {
    // Pages that would be deleted at once are not written.
    const kept = own.slice(-maxPages * pageSize);
    for (let at = 0; at < kept.length; at += pageSize) statements.push(append(db, account, kept.slice(at, at + pageSize)));
    statements.push(dropOldest(db, account));
  }
  for (let at = 0; at < statements.length; at += maxStatements) await db.batch(statements.slice(at, at + maxStatements));
}

/** Adds requests to the account's open page, or begins one. */
function append(db: D1Database, account: string, requests: LoggedRequest[]): D1PreparedStatement {
  const began = Math.min(...requests.map(({ at }) => at));
  const errors = requests.filter(({ status }) => status >= 400).length;
  const lines = requests.map((request) => JSON.stringify({ ...request, account: undefined })).join("\n");
  return db
    .prepare(
      `INSERT INTO request_page (account_id, began_at, requests, errors, entries)
       VALUES (?1, coalesce((SELECT began_at FROM request_page WHERE account_id = ?1 AND began_at > ?2 - ${pageMs} AND requests < ${pageSize}
                             ORDER BY began_at DESC LIMIT 1), ?2), ?3, ?4, ?5)
       ON CONFLICT DO UPDATE SET requests = requests + excluded.requests, errors = errors + excluded.errors,
         entries = entries || char(10) || excluded.entries`,
    )
    .bind(account, began, requests.length, errors, lines);
}

const dropOldest = (db: D1Database, account: string) =>
  db
    .prepare(
      `DELETE FROM request_page WHERE account_id = ?1 AND began_at <=
         (SELECT began_at FROM request_page WHERE account_id = ?1 ORDER BY began_at DESC LIMIT 1 OFFSET ${maxPages})`,
    )
    .bind(account);

/** Deletes the pages of all accounts whose requests are older than the retention time. */
export const deleteOldRequests = async (db: D1Database, now: number): Promise<void> => {
  await db
    .prepare("DELETE FROM request_page WHERE began_at < ?1")
    .bind(now - keptMs - pageMs)
    .run();
};

/** Deletes the account's requests. */
export const eraseRequests = (db: D1Database, account: string) =>
  db.prepare("DELETE FROM request_page WHERE account_id = ?1").bind(account);

const isResult = ({ status }: RequestEntry, result: RequestFilter["result"]) =>
  result === undefined || result === (status < 400 ? "succeeded" : status < 500 ? "refused" : "failed");

const isOlder = (one: RequestEntry, other: { at: number; request: string }) =>
  one.at < other.at || (one.at === other.at && one.request < other.request);

/**
 * The account's newest `limit` requests that match, after the request `after`, newest first; `hasMore` if older ones match too. The
 * database filters out pages without a match, so few pages are read.
 */
export async function readRequests(
  db: D1Database,
  account: string,
  { result, key, keys, text }: RequestFilter,
  { limit, after, now }: { limit: number; after?: { at: number; request: string } | undefined; now: number },
): Promise<{ entries: RequestEntry[]; hasMore: boolean }> {
  const found: RequestEntry[] = [];
  const matches = (entry: RequestEntry) =>
    entry.at >= now - keptMs &&
    isResult(entry, result) &&
    (key === undefined || entry.key === key) &&
    (keys === undefined || (entry.key !== undefined && keys.includes(entry.key))) &&
    (text === undefined || [entry.request, entry.task, entry.path].some((words) => words?.includes(text))) &&
    (after === undefined || isOlder(entry, after));
  const statement = db.prepare(
    `SELECT began_at AS beganAt, entries FROM request_page WHERE account_id = ?1 AND began_at >= ?2 AND began_at < ?3
       AND (?4 = 0 OR errors > 0) AND instr(entries, ?5) > 0 AND instr(entries, ?6) > 0 ORDER BY began_at DESC LIMIT ${pagesRead}`,
  );
  let before = (after?.at ?? now) + overlapMs;
  while (true) {
    const errorsOnly = result === "refused" || result === "failed" ? 1 : 0;
    const { results } = await statement
      .bind(account, now - keptMs - pageMs, before, errorsOnly, key ?? "", text ?? "")
      .run<{ beganAt: number; entries: string }>();
    for (const { entries } of results) {
      const page = entries.split("\n").map((line) => JSON.parse(line) as RequestEntry);
      found.push(...page.filter(matches));
    }
    const oldest = results.at(-1);
    found.sort((one, other) => (isOlder(one, other) ? 1 : -1));
    const last = found[limit];
    if (results.length < pagesRead || !oldest || (last && last.at > oldest.beganAt + overlapMs))
      return { entries: found.slice(0, limit), hasMore: last !== undefined };
    before = oldest.beganAt;
  }
}

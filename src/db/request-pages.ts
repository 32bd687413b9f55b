/** The pages in which the log of requests is stored, without content: bounded for each account. A page is one row, so a batch of requests is one write. */

import { dayMs } from "../base/times.ts";
import { execute } from "./query.ts";

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
  /** The beginning of the error's message, in the language of the answer. */
  message?: string | undefined;
  ms: number;
  key?: string | undefined;
  /** A task, or the chat that the request made. */
  task?: string | undefined;
  model?: string | undefined;
}

/** A request in the log. */
export type RequestEntry = Omit<LoggedRequest, "account">;

/** Requests of an account as they are stored, at most as many as a page has. */
export interface RequestPage {
  account: string;
  /** The time of its first request in milliseconds. */
  began: number;
  requests: number;
  /** Those of them with a status of 400 or above. */
  errors: number;
  /** One request a line, in JSON. */
  entries: string;
}

/** How long requests are kept. */
export const keptDays = 3;
export const keptMs = keptDays * dayMs;
/** A page is closed when it has this many requests or is this old; pages are deleted as a whole. */
const pageSize = 100;
export const pageMs = 7_200_000;
/** How many of an account's newest pages are kept: at least four thousand requests of a busy account, and all of three days otherwise. */
export const maxPages = 40;
/**
 * Several isolates write their requests one after the other: a page may contain requests that are this much older than the last ones of the
 * page before it.
 */
export const overlapMs = 60_000;
/** About how many characters one statement writes: D1 takes values of up to two megabytes. */
const maxCharacters = 500_000;

/** Collects requests into pages of their accounts. */
export class RequestPages {
  /** Newest last. */
  readonly pages: RequestPage[] = [];
  /** The number of requests. */
  count = 0;
  readonly #open = new Map<string, RequestPage>();

  add({ account, ...entry }: LoggedRequest): void {
    let page = this.#open.get(account);
    if (!page || page.requests === pageSize) {
      page = { account, began: entry.at, requests: 0, errors: 0, entries: "" };
      this.#open.set(account, page);
      this.pages.push(page);
    }
    page.entries += (page.requests === 0 ? "" : "\n") + JSON.stringify(entry);
    page.began = Math.min(page.began, entry.at);
    page.requests++;
    this.count++;
    if (entry.status >= 400) page.errors++;
  }
}

/** The requests of a stored page. */
export const parsePage = (entries: string) => entries.split("\n").map((line) => JSON.parse(line) as RequestEntry);

/** Writes requests of several accounts, newest last. */
export function writeRequests(db: D1Database, requests: LoggedRequest[]): Promise<void> {
  const { pages } = requests.reduce((all, request) => (all.add(request), all), new RequestPages());
  return writeRequestPages(db, pages);
}

/** Adds pages of several accounts to the accounts' open pages, or begins new ones; newest last. Few statements for many accounts, because a statement costs more than its rows. */
export async function writeRequestPages(db: D1Database, pages: RequestPage[]): Promise<void> {
  const rows: (RequestPage & { joins: boolean })[] = [];
  const accounts = Map.groupBy(pages, ({ account }) => account);
  // Pages that would be deleted at once are not written. The first one goes to the open page, which is full when there is a second one.
  for (const own of accounts.values()) rows.push(...own.slice(-maxPages).map((page, at) => ({ ...page, joins: at === 0 })));
  const parts: (typeof rows)[] = [];
  let characters = Infinity;
  for (const row of rows) {
    if (characters + row.entries.length > maxCharacters) {
      parts.push([]);
      characters = 0;
    }
    parts.at(-1)!.push(row);
    characters += row.entries.length;
  }
  if (parts.length > 0) await db.batch([...parts.map((part) => append(db, part)), dropOldest(db, [...accounts.keys()])]);
}

const append = (db: D1Database, pages: object[]): D1PreparedStatement =>
  db
    .prepare(
      `INSERT INTO request_page (account_id, began_at, requests, errors, entries)
       SELECT value ->> 'account',
         coalesce(iif(value ->> 'joins', (SELECT began_at FROM request_page WHERE account_id = value ->> 'account'
           AND began_at > value ->> 'began' - ${pageMs} AND requests < ${pageSize} ORDER BY began_at DESC LIMIT 1), NULL), value ->> 'began'),
         value ->> 'requests', value ->> 'errors', value ->> 'entries'
       FROM json_each(?1) WHERE true
       ON CONFLICT DO UPDATE SET requests = requests + excluded.requests, errors = errors + excluded.errors,
         entries = entries || char(10) || excluded.entries`,
    )
    .bind(JSON.stringify(pages));

const dropOldest = (db: D1Database, accounts: string[]) =>
  db
    .prepare(
      `DELETE FROM request_page WHERE rowid IN (SELECT page.rowid FROM json_each(?1) account
         JOIN request_page page ON page.account_id = account.value AND page.began_at <=
           (SELECT began_at FROM request_page WHERE account_id = account.value ORDER BY began_at DESC LIMIT 1 OFFSET ${maxPages}))`,
    )
    .bind(JSON.stringify(accounts));

/** Deletes the pages of all accounts whose requests are older than the retention time. */
export const deleteOldRequests = (db: D1Database, now: number): Promise<void> =>
  execute(db, "DELETE FROM request_page WHERE began_at < ?1", [now - keptMs - pageMs]);

/** Deletes the account's requests. */
export const eraseRequests = (db: D1Database, account: string) =>
  db.prepare("DELETE FROM request_page WHERE account_id = ?1").bind(account);

/** The log of requests as callers see it: found by filters, and counted by them. */

import { isChatId } from "../base/ids.ts";
import { queryRows } from "./query.ts";
import { keptMs, maxPages, overlapMs, pageMs, parsePage, type RequestEntry } from "./request-pages.ts";

/** True if the request made a task or a chat, which has a cost. */
export const isSubmission = ({ task, path, status }: RequestEntry) =>
  isChatId(task) || (task !== undefined && status < 400 && /^POST (?!.*\/(cancel|callback|test)$)/.test(path));

export interface RequestFilter {
  /** By status: `succeeded` is 2xx and 3xx, `refused` 4xx, `failed` 5xx. `rescued`: a later route completed what the request submitted. */
  result?: Result | "rescued" | undefined;
  /** The key's wallet. */
  key?: string | undefined;
  /** Only requests with these keys' wallets. */
  keys?: string[] | undefined;
  /** A part of a request id or a task id. */
  text?: string | undefined;
  /** The method and the path, with `{id}` in the place of ids (`pathOf`). */
  path?: string | undefined;
  model?: string | undefined;
  /** The error's code. */
  error?: string | undefined;
  /** Only answers that took at least this long, milliseconds. */
  slow?: number | undefined;
  /** From a time to another, in milliseconds. */
  since?: number | undefined;
  until?: number | undefined;
}

/** What requests are counted by. */
const facets = ["result", "path", "model", "key", "error"] as const;
export type Facet = (typeof facets)[number];

/** Requests of a time: how many there are in each of its parts, and by each filter. */
export interface RequestCounts {
  /** How many succeeded, were refused, and failed, by the number of the part. */
  parts: Record<Result, number>[];
  /** Of each filter: how many requests each value has, with the other filters as they are; the most first. */
  values: Record<Facet, [value: string, count: number][]>;
}

export const results = ["succeeded", "refused", "failed"] as const;
export type Result = (typeof results)[number];

const resultOf = ({ status }: Pick<RequestEntry, "status">): Result => (status < 400 ? "succeeded" : status < 500 ? "refused" : "failed");

/** The method and the path of a request, with `{id}` in the place of ids. */
const pathOf = ({ path }: Pick<RequestEntry, "path">): string => path.replace(/\/(?:[a-z]{2,8}_[\w-]{8,})/g, "/{id}");

/** The values of a request by a filter. */
const valuesOf: Record<Facet, (entry: RequestEntry, rescued: ReadonlySet<string>) => string[]> = {
  result: (entry, rescued) => [resultOf(entry), ...(rescued.has(entry.task ?? "") && isSubmission(entry) ? ["rescued"] : [])],
  path: (entry) => [pathOf(entry)],
  model: ({ model }) => (model === undefined ? [] : [model]),
  key: ({ key }) => (key === undefined ? [] : [key]),
  error: ({ outcome }) => (outcome === "ok" ? [] : [outcome]),
};

/** Of what these requests submitted, the tasks and chats that a later route than the first completed. */
async function readRescued(db: D1Database, account: string, entries: RequestEntry[]): Promise<ReadonlySet<string>> {
  const submitted = entries.filter(isSubmission).map(({ task }) => task);
  if (submitted.length === 0) return new Set();
  const rows = await queryRows<{ task: string }>(
    db,
    `SELECT task_id AS task FROM entry WHERE task_id IN (SELECT value FROM json_each(?1)) AND account_id = ?2
      AND outcome = 'completed' AND json_array_length(attempts) > 1`,
    [JSON.stringify(submitted), account],
  );
  return new Set(rows.map(({ task }) => task));
}

/** The number of pages that one query reads. */
const pagesRead = 6;
/** The filters that a request does not match, of those by a value. */
const missed = (entry: RequestEntry, filter: RequestFilter, rescued: ReadonlySet<string>): Facet[] =>
  facets.filter((facet) => filter[facet] !== undefined && !valuesOf[facet](entry, rescued).includes(filter[facet]));

/** True if a request matches the filters that are not by a value. */
const isAmong = (entry: RequestEntry, { keys, text, slow = 0, since = 0, until = Infinity }: RequestFilter, now: number): boolean =>
  entry.at >= Math.max(now - keptMs, since) &&
  entry.at < until &&
  entry.ms >= slow &&
  (keys === undefined || (entry.key !== undefined && keys.includes(entry.key))) &&
  (text === undefined || [entry.request, entry.task, entry.path].some((words) => words?.includes(text)));

const isOlder = (one: RequestEntry, other: { at: number; request: string }) =>
  one.at < other.at || (one.at === other.at && one.request < other.request);

/**
 * The account's newest `limit` requests that match, after the request `after`, newest first; `hasMore` if older ones match too. The
 * database filters out pages without a match, so few pages are read.
 */
export async function readRequests(
  db: D1Database,
  account: string,
  filter: RequestFilter,
  { limit, after, now }: { limit: number; after?: { at: number; request: string } | undefined; now: number },
): Promise<{ entries: RequestEntry[]; hasMore: boolean }> {
  const found: RequestEntry[] = [];
  const { result, key, text, since = 0, until = now } = filter;
  const statement = db.prepare(
    `SELECT began_at AS beganAt, entries FROM request_page WHERE account_id = ?1 AND began_at >= ?2 AND began_at < ?3
       AND (?4 = 0 OR errors > 0) AND instr(entries, ?5) > 0 AND instr(entries, ?6) > 0 ORDER BY began_at DESC LIMIT ${pagesRead}`,
  );
  let before = (after?.at ?? until) + overlapMs;
  while (true) {
    const errorsOnly = result === "refused" || result === "failed" ? 1 : 0;
    const { results } = await statement
      .bind(account, Math.max(now - keptMs, since) - pageMs, before, errorsOnly, key ?? "", text ?? "")
      .run<{ beganAt: number; entries: string }>();
    const read = results.flatMap(({ entries }) => parsePage(entries)).filter((entry) => isAmong(entry, filter, now));
    const rescued: ReadonlySet<string> = result === "rescued" ? await readRescued(db, account, read) : new Set();
    found.push(...read.filter((entry) => missed(entry, filter, rescued).length === 0 && (after === undefined || isOlder(entry, after))));
    const oldest = results.at(-1);
    found.sort((one, other) => (isOlder(one, other) ? 1 : -1));
    const last = found[limit];
    if (results.length < pagesRead || !oldest || (last && last.at > oldest.beganAt + overlapMs))
      return { entries: found.slice(0, limit), hasMore: last !== undefined };
    before = oldest.beganAt;
  }
}

/** Counts the account's requests of a time that match, in `parts` equal parts of it and by each filter. Reads the kept pages of that time, at most as many as are kept. */
export async function countRequests(
  db: D1Database,
  account: string,
  filter: RequestFilter & { since: number; until: number },
  { parts: count, now }: { parts: number; now: number },
): Promise<RequestCounts> {
  const { since, until } = filter;
  const pages = await queryRows<{ entries: string }>(
    db,
    `SELECT entries FROM request_page WHERE account_id = ?1 AND began_at >= ?2 AND began_at < ?3 ORDER BY began_at DESC LIMIT ${maxPages + 1}`,
    [account, Math.max(now - keptMs, since) - pageMs, until + overlapMs],
  );
  const parts = Array.from({ length: count }, (): Record<Result, number> => ({ succeeded: 0, refused: 0, failed: 0 }));
  const counts = Object.fromEntries(facets.map((facet) => [facet, new Map<string, number>()])) as Record<Facet, Map<string, number>>;
  const entries = pages.flatMap((page) => parsePage(page.entries)).filter((entry) => isAmong(entry, filter, now));
  const rescued = await readRescued(db, account, entries);
  for (const entry of entries) {
    const others = missed(entry, filter, rescued);
    if (others.length === 0) {
      const part = parts[Math.min(count - 1, Math.floor(((entry.at - since) / (until - since)) * count))];
      if (part) part[resultOf(entry)]++;
    }
    for (const facet of facets) {
      // A value counts as if it were chosen in the place of the present one.
      if (others.some((other) => other !== facet)) continue;
      for (const value of valuesOf[facet](entry, rescued)) counts[facet].set(value, (counts[facet].get(value) ?? 0) + 1);
    }
  }
  const sorted = (facet: Facet) => [...counts[facet]].sort(([a, of], [b, other]) => other - of || (a < b ? -1 : 1));
  return { parts, values: Object.fromEntries(facets.map((facet) => [facet, sorted(facet)])) as RequestCounts["values"] };
}

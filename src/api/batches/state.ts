/** What a batch's object stores: the batch, the pages of its input, and the lines that have ended. */

import { isChatId } from "../../base/ids.ts";
import type { batchStatuses, batchWaits } from "../../base/words.ts";
import type { DeliveryOutcome } from "../../db/delivery-events.ts";
import type { StoredFile } from "../../db/files.ts";
import type { EndedLines, FailureGroup, LineDelivery, LineQuery } from "../../tasks/batch-line.ts";
import type { DeliverTo } from "../../tasks/record.ts";
import type { Settlement } from "../../wallet/late-settlements.ts";
import type { Language } from "../../messages/index.ts";

/** How many lines a page has: one row is written for all of them before any of them runs. */
export const pageLines = 32;

/** Characters of a result in its line's row: a row may have 2 MB, and the console reads a page of them. A longer one is stored in parts. */
const maxText = 200_000;
/** The beginning of what stands in the place of a long result: its number of parts, and the line without its answer. */
const longStart = '{"parts":';

/** Why the lines that have not begun fail. */
export type StopReason = "cancelled" | "insufficient_quota" | "unauthorized";

/** How many lines ended, by status, and what they were charged, in millionths. */
type LineSums = Record<"completed" | "failed" | "charged", number>;

/** A line that could not be read, in a batch that failed. `line` counts from 1. */
export interface LineFault {
  line: number;
  code: string;
  message: string;
  param: string | null;
}

/** The fields of a batch on OpenAI's paths that ours does not have; `input_file_id` is the file as the caller wrote it. */
export interface OpenAiOrigin {
  endpoint: string;
  input_file_id: string;
  metadata?: Record<string, string>;
}

/** A batch as it was submitted. Never changes. */
export interface BatchTerms {
  id: string;
  accountId: string;
  keyId: string;
  /** Of the API key, which is checked again before each line; missing for a user of the console, whose key is found by its id. */
  keyHash?: string | undefined;
  /** Identifies the request, for one that is repeated with the same idempotency key. */
  fingerprint?: string | undefined;
  /** The name of the object of the idempotency key. */
  claim?: string | undefined;
  requestId: string;
  base: string;
  host: string;
  language: Language;
  /** The size of the input in the bucket. */
  inputBytes: number;
  inputFile?: string | undefined;
  /** Millionths; undefined without a limit. */
  maxCost?: number | undefined;
  concurrency: number;
  callbackUrl?: string | undefined;
  /** How a batch was begun on OpenAI's paths; its lines may use features of OpenAI's API. */
  openAi?: OpenAiOrigin | undefined;
  /** Of the lines whose bodies have none of their own: a destination. */
  deliverTo?: DeliverTo | undefined;
  reference?: string | undefined;
  /** Milliseconds */
  createdAt: number;
}

export interface Batch {
  terms: BatchTerms;
  status: (typeof batchStatuses)[number];
  /** Set once all lines are checked. */
  total: number;
  /** The last page of which tasks may have begun, by their kind (`toKind`). Chats that have begun are stored (`HeldChat`). */
  begun: Record<string, number>;
  stop?: StopReason | undefined;
  /** When its caller cancelled it, in milliseconds. */
  cancelledAt?: number | undefined;
  /** Since when the balance is missing or the key is paused, or since when the account's open tasks leave no room, and no line has begun, in milliseconds. */
  waiting?: { for: (typeof batchWaits)[number]; balanceSince?: number; openSince?: number } | undefined;
  /** Since when faults of our own keep lines from being checked or from beginning, in milliseconds. */
  faultSince?: number | undefined;
  endedAt?: number | undefined;
  /** Of an ended batch: to count fifty thousand lines each time that it is shown or listed takes longer than everything else about it. Missing if the previous release ended it. */
  sums?: LineSums | undefined;
  /** Of an ended batch whose deliveries have all ended, for the same reason. */
  deliveries?: Deliveries | undefined;
  /** Of an ended batch: when its receiver is called next, and how many calls have failed. */
  call?: { at: number; failures: number } | undefined;
  errors?: LineFault[] | undefined;
  resultsFile?: string | undefined;
  /** The stored results, which become a file of the account, `resultsFile`. Another one, or none, in an ended batch: a line was erased since. */
  results?: StoredFile | undefined;
  /** The usual seconds of the first line of the last page that began. */
  typicalSeconds?: number | undefined;
  /** What all lines cost if none fails, in millionths, when they were checked. */
  expected?: number | undefined;
  /** The line from which on files are delivered again at the owner's request. */
  deliverAgainFrom?: number | undefined;
  /** Since when makers refuse lines as busy, in milliseconds, by the lines' kind (`toKind`); 0 once they are not asked any more. */
  refused?: Record<string, number> | undefined;
}

/**
 * The id of a line's task, chosen before it is made, its price in millionths, the line's own id, the place of its text in the input, and its
 * model. The task's id and the model are empty if the batch was stopped before the line was checked. null: the line was refused when it was checked.
 */
export type Assigned = [taskId: string, price: number, customId: string, at: number, bytes: number, model: string] | null;

/** What waits together: the tasks, or the chats, of one model. */
export const toKind = ([taskId, , , , , model]: NonNullable<Assigned>) => `${isChatId(taskId) ? "chats" : "tasks"} ${model}`;
export const isOfChats = (kind: string) => kind.startsWith("chats ");

export interface Page {
  n: number;
  /** The number of its first line. */
  first: number;
  /** Where its text begins in the input, and its length. */
  at: number;
  bytes: number;
  assigned: Assigned[];
}

/** An ended line. `result` is its line of the results, which may be long if it is a chat's; `isDelivered`: its files go to a bucket of the caller. */
interface EndedLine {
  n: number;
  status: "completed" | "failed";
  charged: number;
  result: string;
  isDelivered?: boolean;
}

/** Lines by the delivery of their files. */
export interface Deliveries {
  pending: number;
  delivered: number;
  failed: number;
}

/** A chat that was held, and how it is settled: at nothing until it has ended. `n` is its line. */
export type HeldChat = Settlement & { n: number };

/** The object's storage. Calls without an `await` between them are one transaction. */
export class BatchStore {
  readonly #storage: DurableObjectStorage;
  #batch: Batch | undefined;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    this.#batch = storage.kv.get<Batch>("batch");
  }

  /** undefined before it is created, and after it is removed. */
  get batch(): Batch | undefined {
    return this.#batch;
  }

  /** The batch, in everything that runs only once there is one. */
  get current(): Batch {
    if (!this.#batch) throw new Error("the object has no batch");
    return this.#batch;
  }

  /** Bytes of everything that is stored. */
  get size(): number {
    return this.#storage.sql.databaseSize;
  }

  write(batch: Batch): void {
    this.#storage.kv.put("batch", batch);
    this.#batch = batch;
  }

  /** Lines that have not begun fail for this reason, unless there is an earlier one. */
  stop(reason: StopReason): void {
    if (this.current.stop !== undefined) return;
    this.write({ ...this.current, stop: reason, waiting: undefined, ...(reason === "cancelled" && { cancelledAt: Date.now() }) });
  }

  #rows<Row extends Record<string, SqlStorageValue>>(sql: string, ...values: SqlStorageValue[]): Row[] {
    return this.#storage.sql.exec<Row>(sql, ...values).toArray();
  }

  remove(): Promise<void> {
    this.#batch = undefined;
    return this.#storage.deleteAll();
  }

  /** Creates the tables, or empties them: the check of the lines begins again after a crash. */
  clear(): void {
    this.#rows(
      `CREATE TABLE IF NOT EXISTS page (n INTEGER PRIMARY KEY, first INTEGER, at INTEGER, bytes INTEGER, assigned TEXT);
CREATE TABLE IF NOT EXISTS line (n INTEGER PRIMARY KEY, status TEXT, charged INTEGER, result TEXT);
CREATE TABLE IF NOT EXISTS delivery (n INTEGER PRIMARY KEY, outcome TEXT);
DELETE FROM page;
DELETE FROM line`,
    );
  }

  /** How the delivery of a line's files has ended, also when it was repeated. */
  putDelivery(n: number, outcome: DeliveryOutcome): void {
    this.#rows("INSERT OR REPLACE INTO delivery VALUES (?, ?)", n, outcome);
    this.#countAgain();
  }

  /** The delivery of a line's files could not be repeated. An end that was reported meanwhile stays. */
  failDelivery(n: number): void {
    this.#rows("UPDATE delivery SET outcome = 'delivery_failed' WHERE n = ? AND outcome = 'pending'", n);
    this.#countAgain();
  }

  /** Files are delivered again from the first line on: failed deliveries are pending again. */
  deliverAgain(): void {
    this.#rows("UPDATE delivery SET outcome = 'pending' WHERE outcome = 'delivery_failed'");
    this.write({ ...this.current, deliverAgainFrom: 0, deliveries: undefined });
  }

  /** The completed lines from `from` on whose delivery has not ended. */
  undelivered(from: number, limit: number): number[] {
    return this.#rows<{ n: number }>("SELECT n FROM delivery WHERE n >= ? AND outcome = 'pending' ORDER BY n LIMIT ?", from, limit).map(
      ({ n }) => n,
    );
  }

  /** How many lines' files are on their way, have arrived, and have not; undefined if no ended line has files for a bucket. */
  deliveries(): Deliveries | undefined {
    const { deliveries, endedAt } = this.current;
    if (deliveries) return deliveries;
    const [sums] = this.#rows<{ [State in keyof Deliveries]: Deliveries[State] | null }>(
      `SELECT sum(outcome = 'pending') AS pending, sum(outcome = 'delivered') AS delivered, sum(outcome = 'delivery_failed') AS failed FROM delivery`,
    );
    if (!sums || sums.pending === null) return undefined;
    const counted = sums as Deliveries;
    if (endedAt !== undefined && counted.pending === 0) this.write({ ...this.current, deliveries: counted });
    return counted;
  }

  #countAgain(): void {
    if (this.current.deliveries) this.write({ ...this.current, deliveries: undefined });
  }

  putPage({ n, first, at, bytes, assigned }: Page): void {
    this.#rows("INSERT OR REPLACE INTO page VALUES (?, ?, ?, ?, ?)", n, first, at, bytes, JSON.stringify(assigned));
  }

  page(n: number): Page | undefined {
    const [row] = this.#rows<Record<"n" | "first" | "at" | "bytes", number> & { assigned: string }>("SELECT * FROM page WHERE n = ?", n);
    return row && { ...row, assigned: JSON.parse(row.assigned) as Assigned[] };
  }

  /** What was assigned to a line when it was checked. */
  assigned(n: number): Assigned {
    return this.page(Math.floor(n / pageLines))?.assigned[n % pageLines] ?? null;
  }

  /** The same of a line that was not refused then. */
  accepted(n: number): NonNullable<Assigned> {
    const assigned = this.assigned(n);
    if (!assigned) throw new Error("the line was refused when it was checked");
    return assigned;
  }

  /** Gives the line another task, or another price. */
  reassign(n: number, taskId: string, price?: number): void {
    const page = this.page(Math.floor(n / pageLines))!;
    const [, before, ...rest] = this.accepted(n);
    page.assigned[n % pageLines] = [taskId, price ?? before, ...rest];
    this.putPage(page);
  }

  /** Writes before a line begins what a crash must not lose: that tasks of its page may have begun, and a price that has risen. */
  begin(n: number, taskId: string, price: number, typicalSeconds: number): void {
    const { begun, typicalSeconds: known } = this.current;
    const assigned = this.accepted(n);
    const [kind, at] = [toKind(assigned), Math.floor(n / pageLines)];
    const isNew = !isOfChats(kind) && (begun[kind] ?? -1) < at;
    if (isNew || known === undefined) this.write({ ...this.current, typicalSeconds, ...(isNew && { begun: { ...begun, [kind]: at } }) });
    if (assigned[1] < price) this.reassign(n, taskId, price);
  }

  putLine({ n, status, charged, result, isDelivered }: EndedLine): void {
    const parts = Math.ceil(result.length / maxText);
    let stored = result;
    if (parts > 1) {
      stored = JSON.stringify({ parts, ...(JSON.parse(result) as object), response: undefined });
      for (let at = 0; at < parts; at++) this.#storage.kv.put(`result ${n} ${at}`, result.slice(at * maxText, (at + 1) * maxText));
    }
    this.#rows("INSERT OR IGNORE INTO line VALUES (?, ?, ?, ?)", n, status, charged, stored);
    // The delivery may have ended before its task's end was reported.
    if (isDelivered) this.#rows("INSERT OR IGNORE INTO delivery VALUES (?, 'pending')", n);
  }

  /** Removes what an ended line's task has made and was asked for: its owner has deleted it. False if the line has nothing of it. */
  eraseLine(n: number): boolean {
    const [row] = this.#rows<{ stored: string }>("SELECT result AS stored FROM line WHERE n = ?", n);
    const { response, error, ...rest } = JSON.parse(row?.stored ?? "{}") as { response?: object; error?: object };
    if (!response) return false;
    this.#rows("UPDATE line SET result = ? WHERE n = ?", JSON.stringify({ ...rest, ...(error && { error }) }), n);
    return true;
  }

  /** Written before the hold, and again with what is to be charged: after a crash this record settles whatever is held. */
  putChat(chat: HeldChat): void {
    this.#storage.kv.put(`chat ${chat.charge.taskId}`, chat);
  }

  /** An ended chat: its line, and what is to be settled, in one transaction. */
  endChat(line: EndedLine, chat: HeldChat): void {
    this.#storage.transactionSync(() => {
      this.putChat(chat);
      this.putLine(line);
    });
  }

  /** The chats that are not settled yet. */
  chats(): HeldChat[] {
    return [...this.#storage.kv.list<HeldChat>({ prefix: "chat " })].map(([, chat]) => chat);
  }

  deleteChat(id: string): void {
    this.#storage.kv.delete(`chat ${id}`);
  }

  hasLine(n: number): boolean {
    return this.#rows("SELECT 1 FROM line WHERE n = ?", n).length > 0;
  }

  /** The lines of a page that were not refused and have not ended; undefined if there is no such page. */
  unended(at: number): { n: number; assigned: NonNullable<Assigned> }[] | undefined {
    const page = this.page(at);
    if (!page) return undefined;
    const { first, assigned } = page;
    const rows = this.#rows<{ n: number }>("SELECT n FROM line WHERE n >= ? AND n < ?", first, first + assigned.length);
    const ended = new Set(rows.map(({ n }) => n));
    return assigned.flatMap((one, index) => (one && !ended.has(first + index) ? [{ n: first + index, assigned: one }] : []));
  }

  /** The sums of all lines that have ended: reads each of them. */
  sums(): LineSums {
    return this.#rows<LineSums>(
      "SELECT total(status = 'completed') AS completed, total(status = 'failed') AS failed, total(charged) AS charged FROM line",
    )[0]!;
  }

  /** The ended lines that match, in the order of the input or from its end, and whether there are more of them. */
  select({ status, code, after, limit, isNewest }: LineQuery): EndedLines {
    const rows = this.#rows<{ n: number; result: string; delivery: LineDelivery | null }>(
      `SELECT n, result, (SELECT outcome FROM delivery WHERE delivery.n = line.n) AS delivery FROM line WHERE (?1 IS NULL OR status = ?1) AND (?2 IS NULL OR json_extract(result, '$.error.code') = ?2)
           AND (?3 IS NULL OR n > ?3) ORDER BY n ${isNewest ? "DESC" : "ASC"} LIMIT ?4`,
      status ?? null,
      code ?? null,
      after ?? null,
      limit + 1,
    );
    return { lines: rows.slice(0, limit), hasMore: rows.length > limit };
  }

  /** The failed lines by the code of their error, the most frequent first. */
  failures(): FailureGroup[] {
    const groups = new Map<string, FailureGroup>();
    let page: Page | undefined;
    for (const { n, code } of this.#storage.sql.exec<{ n: number; code: string | null }>(
      "SELECT n, json_extract(result, '$.error.code') AS code FROM line WHERE status = 'failed' ORDER BY n",
    )) {
      const at = Math.floor(n / pageLines);
      if (page?.n !== at) page = this.page(at);
      const assigned = page?.assigned[n % pageLines];
      const group = groups.get(code ?? "") ?? { code: code ?? "", lines: 0, repeatable: 0, unchecked: 0, price: 0 };
      group.lines++;
      if (assigned) {
        group.repeatable++;
        if (assigned[0] === "") group.unchecked++;
        group.price += assigned[1];
      }
      groups.set(group.code, group);
    }
    return [...groups.values()].sort((one, other) => other.lines - one.lines);
  }

  /** A line's result as it was put. */
  #whole(n: number, stored: string): string {
    if (!stored.startsWith(longStart)) return stored;
    const { parts } = JSON.parse(stored) as { parts: number };
    return Array.from({ length: parts }, (_, at) => this.#storage.kv.get<string>(`result ${n} ${at}`)).join("");
  }

  /** The results from line `from` on, in order, of about `maxBytes`; `next` is the line to continue with, undefined at the end. */
  results(from: number, maxBytes: number): { text: string; next: number | undefined } {
    let text = "";
    for (const { n, stored } of this.#storage.sql.exec<{ n: number; stored: string }>(
      "SELECT n, result AS stored FROM line WHERE n >= ? ORDER BY n",
      from,
    )) {
      const result = this.#whole(n, stored);
      if (text !== "" && text.length + result.length > maxBytes) return { text, next: n };
      text += `${result}\n`;
    }
    return { text, next: undefined };
  }
}

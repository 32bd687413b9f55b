/** The amounts that an account holds and owes between two writes to D1: open holds, settled entries that D1 does not have yet, and their sums. Pure: no storage, no clock. */

import type { Made } from "../db/fingerprints.ts";
import type { SettledEntry } from "../db/grants.ts";
import type { BookedAttempt } from "../db/settled-sums.ts";

/** A task or chat of the account. */
export interface WalletEntry {
  taskId: string;
  keyId: string;
  kind: string;
  model: string;
  /** Millionths */
  held: number;
  /** When it was reserved, in milliseconds. */
  at: number;
  /** For chats: when the hold is released, even if the Worker that answers has crashed. */
  deadline?: number;
  end?: End;
}

type EndedEntry = WalletEntry & { end: End };

export const hasEnded = (entry: WalletEntry): entry is EndedEntry => entry.end !== undefined;

export interface End {
  /** Millionths, at most the held amount */
  charged: number;
  outcome: string;
  at: number;
  /** The settlement's number within the account. 0 for an entry that never held anything, which is not written to D1. */
  n: number;
  /** The files that a completed task made. */
  made?: Made;
  /** What the makers bill. */
  attempts?: readonly BookedAttempt[];
}

/** A row of the object's storage. Several entries share a row, so that writing an entry and its end costs two rows, and its removal a part of one. A larger page makes each write more expensive. */
export interface Page {
  seq: number;
  entries: WalletEntry[];
}

export interface Sums {
  /** Millionths of open holds. */
  held: number;
  /** Millionths charged by settled entries that D1 does not have yet. */
  owed: number;
  /** Open tasks, chats not counted. */
  tasks: number;
}

const pageSize = 16;
const nothing = (): Sums => ({ held: 0, owed: 0, tasks: 0 });

/** What stays in memory of a full page whose entries D1 has: in a busy account there are thousands of them. */
interface WrittenPage {
  seq: number;
  taskIds: string[];
  /** When it was packed: the time of the account's last settlement before that. */
  at: number;
}

export class WalletBook {
  /** Pages with room, open holds or entries that D1 does not have. */
  readonly #pages = new Map<number, Page>();
  readonly #written: WrittenPage[] = [];
  /** false for the entries of written pages. */
  readonly #entries = new Map<string, { entry: WalletEntry; page: Page } | false>();
  readonly #open = new Set<WalletEntry>();
  /** Settled entries that D1 does not have, in the order of their settlement. */
  readonly #outbox: EndedEntry[] = [];
  readonly #account = nothing();
  readonly #keys = new Map<string, Sums>();
  #current: Page | undefined;
  #last = { n: 0, seq: 0, at: 0, end: 0, flushed: 0 };

  /** Loads a page from the storage; pages must be loaded oldest first. `flushedTo` is the number of the last settlement that D1 has. */
  load(page: Page, flushedTo: number): void {
    this.#last.n = Math.max(this.#last.n, flushedTo);
    this.#last.flushed = flushedTo;
    this.#begin(page);
    for (const entry of page.entries) this.#take(entry, page);
    this.#outbox.sort((a, b) => a.end.n - b.end.n);
    this.#pack(page);
  }

  /** True for an open hold, false for an entry that has ended; undefined for an unknown task. */
  isOpen(taskId: string): boolean | undefined {
    const known = this.#entries.get(taskId);
    return known && !known.entry.end;
  }

  /** Adds an entry: an open hold, or the end of one that never existed. Returns the page to store. */
  add(entry: WalletEntry): Page {
    const current = this.#current;
    const page = current && current.entries.length < pageSize ? current : this.#begin({ seq: this.#last.seq + 1, entries: [] });
    page.entries.push(entry);
    this.#take(entry, page);
    this.#pack(page);
    return page;
  }

  /** Makes a page the one to which entries are added. */
  #begin(page: Page): Page {
    this.#pages.set(page.seq, page);
    this.#last.seq = page.seq;
    return (this.#current = page);
  }

  /** Adds an entry of the page to the sums. */
  #take(entry: WalletEntry, page: Page): void {
    this.#entries.set(entry.taskId, { entry, page });
    this.#last.at = Math.max(this.#last.at, entry.at, entry.end?.at ?? 0);
    if (!hasEnded(entry)) return this.#hold(entry, 1);
    this.#last.end = Math.max(this.#last.end, entry.end.at);
    if (entry.end.n <= this.#last.flushed) return;
    this.#last.n = Math.max(this.#last.n, entry.end.n);
    this.#outbox.push(entry);
    this.#owe(entry, 1);
  }

  /**
   * The time of the next event of the account. These times strictly increase, whatever the clock shows, because readers of events continue
   * from the last time.
   */
  nextEnd(now: number): number {
    this.#last.end = Math.max(now, this.#last.end + 1);
    return this.#last.end;
  }

  /** Settles a hold. Returns the page to store; undefined if there is no open hold. */
  settle(taskId: string, end: Omit<End, "n">): Page | undefined {
    const known = this.#entries.get(taskId);
    if (!known || known.entry.end) return undefined;
    const { entry, page } = known;
    this.#hold(entry, -1);
    const at = this.nextEnd(end.at);
    const charged = Math.max(0, Math.min(end.charged, entry.held));
    const ended = Object.assign(entry, { end: { ...end, at, charged, n: ++this.#last.n } });
    this.#last.at = Math.max(this.#last.at, at);
    this.#outbox.push(ended);
    this.#owe(ended, 1);
    return page;
  }

  /** Moves the deadline of a chat's hold. Returns the page to store; undefined if there is no open hold. */
  postpone(taskId: string, deadline: number): Page | undefined {
    const known = this.#entries.get(taskId);
    if (!known || known.entry.end) return undefined;
    known.entry.deadline = deadline;
    return known.page;
  }

  /** The next entries for D1, oldest settlement first, and the number of the last one, which is at most `upTo`. */
  batch(size: number, upTo = Infinity): { entries: SettledEntry[]; to: number } {
    const taken = this.#outbox.slice(0, size).filter(({ end }) => end.n <= upTo);
    return { entries: taken.map(toSettled), to: taken.at(-1)?.end.n ?? 0 };
  }

  /** Removes settlements up to this number from the outbox, because D1 has them. */
  flushed(to: number): void {
    const later = this.#outbox.findIndex(({ end }) => end.n > to);
    this.#last.flushed = to;
    for (const entry of this.#outbox.splice(0, later === -1 ? this.#outbox.length : later)) {
      this.#owe(entry, -1);
      const known = this.#entries.get(entry.taskId);
      if (known) this.#pack(known.page);
    }
  }

  /** Keeps only the ids of a full page whose entries D1 has. */
  #pack({ seq, entries }: Page): void {
    if (entries.length < pageSize || !entries.every(({ end }) => end && end.n <= this.#last.flushed)) return;
    const taskIds = entries.map(({ taskId }) => taskId);
    for (const taskId of taskIds) this.#entries.set(taskId, false);
    this.#pages.delete(seq);
    this.#written.push({ seq, taskIds, at: this.#last.end });
  }

  /** Forgets pages that were packed before `before`. */
  forget(before: number): void {
    while (this.#written[0] && this.#written[0].at < before)
      for (const taskId of this.#written.shift()!.taskIds) this.#entries.delete(taskId);
  }

  /** The number of the oldest remaining page. */
  get firstPage(): number {
    // The pages are in their order, the written ones in that in which they were packed.
    const first = this.#pages.keys().next().value ?? this.#last.seq;
    return this.#written.reduce((oldest, { seq }) => Math.min(oldest, seq), first);
  }

  /** The sums of the account, or of one of its keys. */
  sums = (keyId?: string): Readonly<Sums> => (keyId === undefined ? this.#account : (this.#keys.get(keyId) ?? nothing()));

  /** The total of open holds and of settled entries that D1 does not have, among those reserved since `since`, of the keys that count. */
  spentSince(since: number, counts: (keyId: string) => boolean = () => true): number {
    let sum = 0;
    for (const entry of [...this.#open, ...this.#outbox])
      if (entry.at >= since && counts(entry.keyId)) sum += entry.end ? entry.end.charged : entry.held;
    return sum;
  }

  /** The entries that D1 does not have: open holds, and settled entries of the outbox. */
  unwritten = (): WalletEntry[] => [...this.#open, ...this.#outbox];
  open = (): Iterable<WalletEntry> => this.#open;
  /** The number of open holds, those of chats too. */
  get openSize(): number {
    return this.#open.size;
  }
  get outboxSize(): number {
    return this.#outbox.length;
  }
  /** The time of the last reservation or settlement. */
  get usedAt(): number {
    return this.#last.at;
  }
  /** The number of the last settlement. */
  get settledTo(): number {
    return this.#last.n;
  }
  get lastPage(): number {
    return this.#last.seq;
  }

  #hold(entry: WalletEntry, sign: 1 | -1): void {
    if (sign === 1) this.#open.add(entry);
    else this.#open.delete(entry);
    for (const sums of this.#sumsOf(entry)) {
      sums.held += sign * entry.held;
      if (entry.kind !== "chat") sums.tasks += sign;
    }
  }

  #owe(entry: EndedEntry, sign: 1 | -1): void {
    for (const sums of this.#sumsOf(entry)) sums.owed += sign * entry.end.charged;
  }

  #sumsOf({ keyId }: WalletEntry): Sums[] {
    let key = this.#keys.get(keyId);
    if (!key) this.#keys.set(keyId, (key = nothing()));
    return [this.#account, key];
  }
}

export const toSettled = ({ end, deadline: _deadline, ...entry }: EndedEntry): SettledEntry => ({
  ...entry,
  charged: end.charged,
  outcome: end.outcome,
  closedAt: end.at,
  ...(end.made && { made: end.made }),
  ...(end.attempts && { attempts: end.attempts }),
});

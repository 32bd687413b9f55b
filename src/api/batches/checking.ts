/** The check of a batch's lines before any of them begins, some lines in each step. What lies between two steps is only in memory: after a crash or a fault the check begins again. */

import { ApiError, invalid } from "../../base/errors.ts";
import { newChatId, toTaskId } from "../../base/ids.ts";
import type { Caller } from "../../db/callers.ts";
import { type Lookups, newLookups } from "../submissions/lookups.ts";
import type { BatchInput } from "./input.ts";
import { findLines, maxLineBytes, maxLines, parseLine } from "./lines.ts";
import { type Assigned, type BatchStore, type BatchTerms, type LineFault, type Page, pageLines } from "./state.ts";
import { checkLine, toLineError, toResult } from "./submit-line.ts";

/** How much of the input one step reads. */
const stepBytes = 2 * maxLineBytes;
/** How many lines one step checks: each may need calls of D1 and of objects, whose number is limited for each alarm. */
const stepLines = 300;
/** Lines that cannot be read have short errors: together they fit into the message of the batch's end, which may have 128 KB. */
const maxFaults = 100;

/** What the check has found. Without a `price` no line could be read, and `faults` name the first lines. */
export interface Checked {
  total: number;
  /** The price of the valid lines, in millionths. */
  price?: number;
  /** True if lines were only parsed: the price is not that of all. */
  isPartial: boolean;
  faults: LineFault[];
}

export class Checking {
  readonly #env: Env;
  readonly #background: Pick<ExecutionContext, "waitUntil">;
  readonly #store: BatchStore;
  readonly #terms: BatchTerms;
  readonly #input: BatchInput;
  /** The place in the input, and the number of the next line. */
  #at = 0;
  #n = 0;
  readonly #ids = new Set<string>();
  #page: Page | undefined;
  readonly #faults: LineFault[] = [];
  #read = 0;
  #unchecked = 0;
  #price = 0;
  /** The place is inside a line that is too long and refused already. */
  #isSkipping = false;

  constructor(env: Env, background: Pick<ExecutionContext, "waitUntil">, store: BatchStore, terms: BatchTerms, input: BatchInput) {
    this.#env = env;
    this.#background = background;
    this.#store = store;
    this.#terms = terms;
    this.#input = input;
    store.clear();
  }

  /** Checks the next lines; without a caller they are only parsed. Returns the result after the last step. After a fault the check cannot go on. */
  async step(caller: Caller | undefined): Promise<Checked | undefined> {
    const { inputBytes } = this.#terms;
    const bytes = await this.#input.read(this.#at, Math.min(stepBytes, inputBytes - this.#at)).catch((error: unknown) => {
      if (!(error instanceof ApiError)) throw error;
      return error;
    });
    if (bytes instanceof ApiError) return { total: this.#n, isPartial: false, faults: [toFault(this.#n, bytes, this.#terms)] };
    const isWhole = this.#at + bytes.length >= inputBytes;
    if (this.#isSkipping) this.#skip(bytes);
    else {
      const { lines, next } = findLines(bytes, isWhole, stepLines);
      const lookups = newLookups();
      for (const { at, bytes: length } of lines) {
        if (this.#n >= maxLines) return this.#end(true);
        await this.#checkLine(this.#at + at, bytes.subarray(at, at + length), caller, lookups);
      }
      this.#at += next;
      if (next === 0 && !isWhole) {
        this.#refuse(this.#n, null, invalid("line", "too_long", { maximum: maxLineBytes }));
        this.#assign(null, this.#at, 0);
        this.#isSkipping = true;
      }
    }
    return this.#at >= inputBytes ? this.#end(false) : undefined;
  }

  /** Passes over a line that is longer than what one step reads. */
  #skip(bytes: Uint8Array): void {
    const end = bytes.indexOf(0x0a);
    this.#at += end === -1 ? bytes.length : end + 1;
    this.#isSkipping = end === -1;
  }

  async #checkLine(at: number, bytes: Uint8Array, caller: Caller | undefined, lookups: Lookups): Promise<void> {
    const found: { customId: string | null } = { customId: null };
    let assigned: Assigned = null;
    try {
      const line = parseLine(bytes, found);
      this.#read++;
      const { customId } = line;
      if (this.#ids.has(customId)) throw invalid("custom_id", "duplicate_custom_id");
      this.#ids.add(customId);
      const checked = caller && (await checkLine(this.#env, this.#background, this.#terms, caller, line, lookups));
      const id = checked && ("chat" in checked ? newChatId() : toTaskId(this.#env.TASKS.newUniqueId()));
      // Without a caller the line is only parsed: it gets no id of a task, and is refused under its `custom_id`.
      const { model = "" } = (checked && ("chat" in checked ? checked.chat : checked.task.submission)) ?? {};
      assigned = [id ?? "", checked?.price ?? 0, customId, at, bytes.length, model];
      this.#price += assigned[1];
      if (!checked) this.#unchecked++;
    } catch (error) {
      if (!(error instanceof ApiError) || error.status >= 500) throw error;
      // An id that another line has names that line's result, too: the second line has none.
      this.#refuse(this.#n, found.customId, error);
    }
    this.#assign(assigned, at, bytes.length);
  }

  #refuse(n: number, customId: string | null, error: ApiError): void {
    if (this.#read === 0 && this.#faults.length < maxFaults) this.#faults.push(toFault(n, error, this.#terms));
    this.#store.putLine({ n, status: "failed", charged: 0, result: toResult(customId, { error: toLineError(error, this.#terms) }) });
  }

  /** Adds the line to its page, and goes on to the next one. */
  #assign(assigned: Assigned, at: number, bytes: number): void {
    this.#page ??= { n: Math.floor(this.#n / pageLines), first: this.#n, at, bytes: 0, assigned: [] };
    this.#page.assigned.push(assigned);
    this.#page.bytes = at + bytes - this.#page.at;
    this.#n++;
    if (this.#page.assigned.length === pageLines) this.#putPage();
  }

  #putPage(): void {
    if (this.#page) this.#store.putPage(this.#page);
    this.#page = undefined;
  }

  #end(isTooLong: boolean): Checked {
    this.#putPage();
    const tooLong = isTooLong ? [toFault(this.#n, invalid("input_file", "too_big_list", { maximum: maxLines }), this.#terms)] : [];
    const faults = [...tooLong, ...this.#faults].slice(0, maxFaults);
    return { total: this.#n, faults, isPartial: this.#unchecked > 0, ...(this.#read > 0 && !isTooLong && { price: this.#price }) };
  }
}

const toFault = (n: number, error: ApiError, terms: BatchTerms): LineFault => ({ line: n + 1, ...toLineError(error, terms) });

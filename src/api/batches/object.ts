/** The batch object: its calls and its alarm, from the check of the lines to its end. Task objects report their ends to it. */

import { DurableObject } from "cloudflare:workers";
import { toObjectId } from "../../base/ids.ts";
import { recordSeconds } from "../../base/life-times.ts";
import { alert } from "../../base/log.ts";
import { withRotatedSecrets } from "../../base/rotated-secrets.ts";
import { deleteBatch, noteBatchEnded } from "../../db/batches.ts";
import { endFile } from "../../db/files.ts";
import { isOthers } from "../../db/callers.ts";
import type { DeliveryOutcome } from "../../db/delivery-events.ts";
import { limitsRates } from "../../config.ts";
import { inJurisdiction } from "../../jurisdiction.ts";
import { batchPrefix, removeUnder } from "../../storage/assets.ts";
import type { EndedLines, FailureGroup, LineQuery, LineReport } from "../../tasks/batch-line.ts";
import { callReceiver } from "./callback.ts";
import { Checking } from "./checking.ts";
import { BatchInput } from "./input.ts";
import { resultBytes, storeResults } from "./results.ts";
import { BatchRun } from "./run.ts";
import { type Batch, BatchStore, type BatchTerms, pageLines } from "./state.ts";
import { type BatchView, toView } from "./view.ts";
import { findCaller } from "./waits.ts";

/** Ended batches are kept as long as the records of tasks. */
const keptMs = 1000 * recordSeconds;
/** The object wakes this often while lines are open: after a crash, and for an end whose report was lost. */
const watchMs = 60_000;
/** This many deliveries are repeated at once, and the next ones after this time: each may keep a bucket's connection and an object for minutes. */
const repeats = { lines: 50, ms: 10_000 };
/** How long after a line was erased the results are stored again: its owner may delete many tasks. */
const eraseMs = 10_000;

export class BatchObject extends DurableObject<Env> {
  readonly #store: BatchStore;
  #checking: Checking | undefined;
  #storing: Promise<void> | undefined;
  #input!: BatchInput;
  #run!: BatchRun;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, inJurisdiction(withRotatedSecrets(env)));
    this.#store = new BatchStore(ctx.storage);
    this.#forgetRun();
  }

  /** Replaces the parts in memory that belong to the run of a batch: it has ended, or does not exist. */
  #forgetRun(): void {
    const { env, ctx } = this;
    this.#checking = undefined;
    this.#input = new BatchInput(env.ASSETS, this.#store);
    this.#run = new BatchRun({ env, ctx, store: this.#store, input: this.#input, finish: (batch) => this.#finish(batch) });
  }

  /** Begins a batch, or returns the one that the same request began; `conflict` if another request did. */
  async create(terms: BatchTerms): Promise<BatchView | "conflict"> {
    // Before the batch: a submission with the same key never finds it free once the batch exists.
    const { claim, id, fingerprint } = terms;
    const isFree =
      claim === undefined || fingerprint === undefined || (await this.env.CLAIMS.getByName(claim).takeForBatch(id, fingerprint));
    const known = this.#store.batch;
    if (!known && !isFree) return "conflict";
    if (known) return known.terms.fingerprint === terms.fingerprint ? this.#view(known) : "conflict";
    this.ctx.storage.transactionSync(() => {
      this.#store.clear();
      this.#store.write({ terms, status: "validating", total: 0, begun: {} });
      void this.ctx.storage.setAlarm(Date.now());
    });
    return this.#view(this.#store.current);
  }

  /** The batch that a request with this fingerprint began; null if none did. */
  async find(accountId: string, fingerprint: string, ownWallets?: string[]): Promise<BatchView | "conflict" | null> {
    const batch = this.#ownedBy(accountId);
    if (!batch) return null;
    const isSame = batch.terms.fingerprint === fingerprint && this.#ownedBy(accountId, ownWallets) !== undefined;
    return isSame ? this.#view(batch) : "conflict";
  }

  /** The batch for its owner; null if the account, or the member with these wallets, has no such batch. */
  async view(accountId: string, ownWallets?: string[]): Promise<BatchView | null> {
    const batch = this.#ownedBy(accountId, ownWallets);
    if (!batch) return null;
    // The platform drops an alarm after some attempts to start the object: a faulty release would stop every batch.
    if ((await this.ctx.storage.getAlarm()) === null) await this.ctx.storage.setAlarm(Date.now());
    // The object may have left memory since lines began: which of them are open is known only to their tasks.
    if (batch.status === "in_progress" && !this.#run.lines)
      await this.#run.load().catch((error: unknown) => alert("batch", { batch: batch.terms.id, outcome: "not_loaded" }, error));
    return this.#view(this.#store.current);
  }

  /** Nothing new begins, and queued tasks are cancelled; running ones end. "final" if the batch has ended. `isRepeat`: an earlier call, whose answer was lost, may have cancelled it. */
  async cancel(accountId: string, ownWallets?: string[], isRepeat = false): Promise<BatchView | "final" | null> {
    const batch = this.#ownedBy(accountId, ownWallets);
    if (!batch) return null;
    if (batch.endedAt !== undefined) return isRepeat && batch.status === "cancelled" ? this.#view(batch) : "final";
    this.#store.stop("cancelled");
    if (batch.status !== "validating") this.ctx.waitUntil(this.#run.cancelQueued());
    await this.ctx.storage.setAlarm(Date.now());
    return this.#view(this.#store.current);
  }

  /** A part of the results, in the order of the input; `next` is the line to continue with. null if the account has no such batch. */
  async results(accountId: string, from: number, ownWallets?: string[]): Promise<{ text: string; next: number | undefined } | null> {
    return this.#ownedBy(accountId, ownWallets) ? this.#store.results(from, resultBytes) : null;
  }

  /** Ended lines, for the console; null if the account has no such batch. */
  async endedLines(accountId: string, query: LineQuery, ownWallets?: string[]): Promise<EndedLines | null> {
    return this.#ownedBy(accountId, ownWallets) ? this.#store.select(query) : null;
  }

  /** The failed lines by their error, for the console; null if the account has no such batch. */
  async failures(accountId: string, ownWallets?: string[]): Promise<FailureGroup[] | null> {
    const batch = this.#ownedBy(accountId, ownWallets);
    if (!batch) return null;
    return batch.status === "validating" || batch.status === "failed" ? [] : this.#store.failures();
  }

  /**
   * The input's text of failed lines that may succeed another time, from line `from` on; `next` is the line to continue with. null if the
   * account has no such batch.
   */
  async failedInput(
    accountId: string,
    code: string | undefined,
    from: number,
    ownWallets?: string[],
  ): Promise<{ text: string; next: number | undefined } | null> {
    const batch = this.#ownedBy(accountId, ownWallets);
    if (!batch) return null;
    const { lines, hasMore } = this.#store.select({ status: "failed", code, after: from - 1, limit: pageLines });
    let text = "";
    for (const { n } of lines) {
      if (this.#store.assigned(n)) text += `${new TextDecoder().decode(await this.#input.line(n))}\n`;
      // Two of the longest lines: a call between Workers carries 32 MiB.
      if (text.length > resultBytes) return { text, next: n + 1 };
    }
    return { text, next: hasMore ? lines.at(-1)!.n + 1 : undefined };
  }

  /** A task of the batch has ended and is settled. Repeating changes nothing. Throws if it cannot be stored: the task reports it again. */
  async lineEnded(n: number, taskId: string, report: LineReport): Promise<void> {
    const { batch } = this.#store;
    if (batch && batch.endedAt === undefined) await this.#run.lineEnded(n, taskId, report);
  }

  /** The owner deletes the task of an ended line: its content leaves the results, and their file is replaced. Repeating changes nothing. */
  async lineErased(n: number, taskId: string): Promise<void> {
    // Otherwise the file that is being stored would have the line.
    while (this.#storing) await this.#storing.catch(() => undefined);
    const { batch } = this.#store;
    if (!batch || this.#store.assigned(n)?.[0] !== taskId) return;
    if (this.#store.eraseLine(n)) {
      // The file may have been added without a note of it.
      this.#store.write({ ...batch, results: undefined, resultsFile: batch.resultsFile ?? batch.results?.id });
      const at = (await this.ctx.storage.getAlarm()) ?? Infinity;
      await this.ctx.storage.setAlarm(Math.min(at, Date.now() + eraseMs));
    }
    await this.#endStale();
  }

  /** Deletes the file of results that have changed since. */
  async #endStale(): Promise<void> {
    const { terms, results, resultsFile } = this.#store.current;
    if (resultsFile !== undefined && results?.id !== resultsFile) await endFile(this.env.DB, terms, resultsFile, Date.now());
  }

  #storeResults(forMs: number): Promise<void> {
    this.#storing ??= storeResults(this.env, this.#store, forMs).finally(() => (this.#storing = undefined));
    return this.#storing;
  }

  /** The delivery of a line's files has ended. Repeating changes nothing; a batch that is gone ignores it. */
  async lineDelivered(n: number, taskId: string, outcome: DeliveryOutcome): Promise<void> {
    if (this.#store.batch && this.#store.assigned(n)?.[0] === taskId) this.#store.putDelivery(n, outcome);
  }

  /**
   * Delivers again, or at once, the files of completed lines that have not arrived: the alarm asks their tasks, line after line. Unchanged while
   * it does so. null if the account has no such batch.
   */
  async deliverAgain(accountId: string, ownWallets?: string[]): Promise<BatchView | null> {
    const batch = this.#ownedBy(accountId, ownWallets);
    if (!batch) return null;
    if (batch.deliverAgainFrom === undefined) {
      this.#store.deliverAgain();
      await this.ctx.storage.setAlarm(Date.now());
    }
    return this.#view(this.#store.current);
  }

  /** Removes the batch of an account that is erased. */
  async erase(accountId: string): Promise<void> {
    const batch = this.#ownedBy(accountId);
    if (!batch) return;
    await this.#forget(batch);
  }

  /** Runs what is due. Never throws, because the platform would drop the alarm after some retries. */
  override async alarm(): Promise<void> {
    try {
      const isDelivering = await this.#deliverNext();
      const { batch } = this.#store;
      if (!batch) return;
      if (batch.endedAt !== undefined) return await this.#afterEnd(batch, batch.endedAt);
      if (batch.status === "validating") return await this.#check(batch);
      // Set before the work: a crash in it is followed by this alarm.
      await this.ctx.storage.setAlarm(Date.now() + (isDelivering ? repeats.ms : watchMs));
      await this.#run.resume();
    } catch (error) {
      alert("batch", { batch: this.#store.batch?.terms.id, outcome: "retry" }, error);
      await this.ctx.storage.setAlarm(Date.now() + this.#run.waits.afterFault());
    }
  }

  /** Asks the tasks of the next lines to deliver again; all batches of the account together within its limit of submissions. True if more are left. A crash repeats some, which changes nothing. */
  async #deliverNext(): Promise<boolean> {
    const { batch } = this.#store;
    let from = batch?.deliverAgainFrom;
    if (!batch || from === undefined) return false;
    const { TASKS, ACCOUNT_SUBMISSIONS } = this.env;
    const { accountId, base, language, id } = batch.terms;
    const lines = this.#store.undelivered(from, repeats.lines);
    for (const n of lines) {
      if (limitsRates(this.env) && !(await ACCOUNT_SUBMISSIONS.limit({ key: `${accountId} deliveries` })).success) break;
      const task = toObjectId(TASKS, this.#store.assigned(n)?.[0] ?? "");
      const done = await (task && TASKS.get(task).repeatDelivery({ view: "generic", accountId, base, language }))?.catch(
        (error: unknown) => {
          alert("batch", { batch: id, outcome: "not_delivered" }, error);
          return "asset_expired";
        },
      );
      if (!this.#store.batch) return false;
      // Nothing is delivered any more, because the files or the whole task are deleted.
      if (!done || typeof done === "string") this.#store.failDelivery(n);
      from = n + 1;
    }
    const isLeft = lines.length > 0;
    this.#store.write({ ...this.#store.current, deliverAgainFrom: isLeft ? from : undefined });
    return isLeft;
  }

  #ownedBy(accountId: string, ownWallets?: string[]): Batch | undefined {
    const { batch } = this.#store;
    if (batch?.terms.accountId !== accountId || isOthers({ ownWallets }, batch.terms.keyId)) return undefined;
    return batch;
  }

  #view(batch: Batch): BatchView {
    const { lines } = this.#run;
    const sums = lines ?? batch.sums ?? (batch.status === "validating" ? { completed: 0, failed: 0, charged: 0 } : this.#store.sums());
    const { completed, failed, charged } = sums;
    const deliveries = this.#store.deliveries();
    return toView(batch, { completed, failed, charged, running: lines?.open.size ?? 0, reserved: lines?.reserved ?? 0, deliveries });
  }

  // Checking

  /** Checks some lines. All are checked before one begins. */
  async #check({ terms, stop }: Batch): Promise<void> {
    // The lines of a batch that is cancelled are only parsed, also while its key is paused.
    const caller = stop === undefined ? await findCaller(this.env, terms) : undefined;
    if (!caller && stop === undefined) {
      const ms = await this.#run.waits.noteKey();
      if (ms !== undefined && this.#store.batch?.stop === undefined) return this.ctx.storage.setAlarm(Date.now() + ms);
    }
    if (!this.#store.batch) return;
    const checking = (this.#checking ??= new Checking(this.env, this.ctx, this.#store, terms, this.#input));
    let checked;
    try {
      checked = await checking.step(this.#store.current.stop === undefined ? caller : undefined);
    } catch (error) {
      this.#checking = undefined;
      throw error;
    }
    if (!this.#store.batch) return;
    if (!checked) return this.ctx.storage.setAlarm(Date.now());
    this.#checking = undefined;
    const { total, price, isPartial, faults } = checked;
    if (price === undefined) {
      // No line could be read.
      await noteBatchEnded(this.env.DB, terms.accountId, terms.id);
      if (!this.#store.batch) return;
      this.#store.clear();
      return this.#end({ ...this.#store.current, status: "failed", errors: faults });
    }
    this.#store.write({
      ...this.#store.current,
      status: "in_progress",
      total,
      expected: isPartial ? undefined : price,
      waiting: undefined,
      faultSince: undefined,
    });
    await this.ctx.storage.setAlarm(Date.now());
  }

  // The end

  /** Stores the results as a file of the account, then ends the batch. A repeat stores them again. */
  async #finish(batch: Batch): Promise<void> {
    await this.#run.settleChats();
    if (batch.resultsFile === undefined) await this.#storeResults(keptMs);
    await noteBatchEnded(this.env.DB, batch.terms.accountId, batch.terms.id);
    this.#end({ ...this.#store.current, status: batch.stop === "cancelled" ? "cancelled" : "completed", waiting: undefined });
  }

  #end(batch: Batch): void {
    const at = Date.now();
    this.ctx.storage.transactionSync(() => {
      this.#store.write({ ...batch, faultSince: undefined, endedAt: at, sums: this.#store.sums(), call: { at, failures: 0 } });
      void this.ctx.storage.setAlarm(at);
    });
    this.#forgetRun();
  }

  /** Calls the receiver of an ended batch when that is due, and removes the batch after seven days. */
  async #afterEnd(batch: Batch, endedAt: number): Promise<void> {
    const until = endedAt + keptMs;
    if (until <= Date.now()) return this.#forget(batch);
    if (batch.status !== "failed" && batch.results?.id !== batch.resultsFile) {
      await this.#endStale();
      if (this.#store.batch) await this.#storeResults(until - Date.now());
      if (!this.#store.batch) return;
    }
    const { terms, call: due } = batch;
    if (due && due.at <= Date.now()) {
      const call = await callReceiver(this.env, terms, { endedAt, ...due }, this.#view(batch));
      if (!this.#store.batch) return;
      this.#store.write({ ...this.#store.batch, call });
    }
    // The receiver may have requested the delivery when it was called.
    const { call, deliverAgainFrom } = this.#store.current;
    await this.ctx.storage.setAlarm(Math.min(deliverAgainFrom === undefined ? until : Date.now() + repeats.ms, call?.at ?? until));
  }

  async #forget({ terms: { accountId, id } }: Batch): Promise<void> {
    await removeUnder(this.env.ASSETS, batchPrefix(id));
    await deleteBatch(this.env.DB, accountId, id);
    await this.#store.remove();
    this.#forgetRun();
  }
}

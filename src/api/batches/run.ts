/** The run of a batch: begins lines while there is room, money and balance for them, and notes how they end. */

import { ApiError, invalid } from "../../base/errors.ts";
import { inLanes, lanes } from "../../base/concurrency.ts";
import { isChatId, newChatId, toObjectId, toTaskId } from "../../base/ids.ts";
import { alert } from "../../base/log.ts";
import { findKey } from "../../db/api-keys.ts";
import { type Caller, findCallerByHash, findCallerById } from "../../db/callers.ts";
import type { Charge } from "../../db/ledger.ts";
import { t } from "../../messages/index.ts";
import type { LineReport } from "../../tasks/batch-line.ts";
import { type CheckedChat, toCharge } from "./chat-line.ts";
import { BatchChats } from "./chats.ts";
import type { BatchInput } from "./input.ts";
import { type Line, parseLine } from "./lines.ts";
import { OpenLines } from "./open-lines.ts";
import type { Batch, BatchStore, BatchTerms, StopReason } from "./state.ts";
import { type CheckedLine, checkLine, makeTask, toLineError, toResult } from "./submit-line.ts";

/** How long a batch waits for balance, or for its paused key. */
const maxWaitMs = 24 * 3_600_000;
/** A line that is open for so long is asked about. */
const askAfterMs = 900_000;
export const retryMs = { balance: 15_000, open_tasks: 3_000, fault: 5_000 };
/** The size of the results from which no chat begins. The results of other lines are small. */
const maxMiB = 2048;
/** How often an alarm that waits for chats looks whether the next one is due. */
const lookMs = 1_000;
/** How often the making of a task may be refused as unavailable before another id is chosen, because the wallet has closed this one. */
const maxRefusals = 3;
/** How many lines one pass starts: a pass belongs to an alarm or a call, which may not run for ever. */
const linesPerPass = 50 * lanes;

/** What a run needs of its object. */
interface Around {
  env: Env;
  ctx: DurableObjectState;
  store: BatchStore;
  input: BatchInput;
  /** Called when every line has ended. */
  finish: (batch: Batch) => Promise<void>;
}

/**
 * The caller as it is now: the key may have ended, its scope may have changed, and its owner may have lost the right to use it. Throws while the
 * account's keys are refused because the database was restored: the batch goes on when the operator has decided.
 */
export async function findCaller(env: Env, { accountId, keyHash, keyId }: BatchTerms): Promise<Caller | undefined> {
  const caller = await (keyHash === undefined ? findCallerById(env, keyId) : findCallerByHash(env, keyHash));
  if (!caller && (await env.WALLETS.getByName(accountId).checkKeys()).isRestored) throw new Error("the database was restored");
  return caller;
}

export class BatchRun {
  readonly #env: Env;
  readonly #ctx: DurableObjectState;
  readonly #store: BatchStore;
  readonly #input: BatchInput;
  readonly #finish: Around["finish"];
  readonly #chats: BatchChats;
  #lines: OpenLines | undefined;
  #loading: Promise<OpenLines> | undefined;
  #pumping: Promise<void> | undefined;
  /** Something changed while lines were being started. */
  #isAsked = false;

  constructor({ env, ctx, store, input, finish }: Around) {
    this.#env = env;
    this.#ctx = ctx;
    this.#store = store;
    this.#input = input;
    this.#finish = finish;
    this.#chats = new BatchChats(env, ctx, store);
  }

  /** undefined before they are loaded. */
  get lines(): OpenLines | undefined {
    return this.#lines;
  }

  /**
   * Asks what was not reported, and starts lines. Returns when the chats have ended, because the object stays in memory for them, or when the
   * next alarm is due, which begins after this one.
   */
  async resume(): Promise<void> {
    const lines = await this.load();
    await this.#askOverdue(lines);
    // After a crash, and for tasks that were being made when the batch was cancelled.
    if (this.#store.current.stop === "cancelled") await this.cancelQueued();
    await this.#chats.settle(({ n }) => this.#store.hasLine(n));
    this.#pump();
    await this.#pumping;
    const ended = this.#chats.allEnded().then(() => true);
    while (!(await Promise.race([ended, scheduler.wait(lookMs)])) && ((await this.#ctx.storage.getAlarm()) ?? Infinity) > Date.now());
  }

  /** Settles what is held for chats, whether they have ended or not. */
  settleChats(): Promise<void> {
    return this.#chats.settle(() => true);
  }

  /** A task of the batch has ended. Repeating changes nothing. */
  async lineEnded(n: number, taskId: string, report: LineReport): Promise<void> {
    const lines = await this.load();
    if (this.#store.assigned(n)?.[0] !== taskId || this.#store.hasLine(n)) return;
    this.#endWithTask(lines, n, taskId, report);
    this.#pump();
  }

  /** Cancels the tasks that no provider works on yet. */
  async cancelQueued(): Promise<void> {
    const { accountId } = this.#store.current.terms;
    for (const n of (await this.load()).open.keys()) {
      const taskId = this.#store.assigned(n)?.[0];
      const id = taskId === undefined ? undefined : toObjectId(this.#env.TASKS, taskId);
      if (!id) continue;
      try {
        const task = await this.#env.TASKS.get(id).read(accountId);
        if (task?.status === "queued") await this.#env.TASKS.get(id).cancel({ view: "generic", language: "en", accountId, base: "" });
      } catch (error) {
        alert("batch", { batch: this.#store.current.terms.id, task: taskId, outcome: "not_cancelled" }, error); // it runs to its end
      }
    }
  }

  /** The lines in memory. After a crash the tasks of all that may have begun are asked before anything else begins. */
  load(): Promise<OpenLines> {
    if (this.#lines) return Promise.resolve(this.#lines);
    this.#loading ??= this.#reload().finally(() => (this.#loading = undefined));
    return this.#loading;
  }

  async #reload(): Promise<OpenLines> {
    const batch = this.#store.current;
    const sums = this.#store.sums();
    // What was held for a chat whose answer is lost is released, and the chat is asked again under another id.
    await this.settleChats();
    const asked: { n: number; taskId: string; price: number }[] = [];
    let next = 0;
    for (let at = 0; at <= batch.begun; at++) {
      const page = this.#store.page(at)!;
      next = page.first + page.assigned.length;
      const ended = this.#store.endedLines(page.first, next);
      page.assigned.forEach((assigned, index) => {
        if (assigned && !ended.has(page.first + index)) asked.push({ n: page.first + index, taskId: assigned[0], price: assigned[1] });
      });
    }
    const lines = new OpenLines(next, sums);
    await inLanes(asked, async ({ n, taskId, price }) => {
      const report = await this.#askTask(batch.terms, taskId);
      if (report === "open") lines.open.set(n, { price, since: Date.now() });
      else if (report === null) lines.putBack(n);
      else this.#endWithTask(lines, n, taskId, report);
    });
    this.#lines = lines;
    return lines;
  }

  async #askTask({ accountId }: BatchTerms, taskId: string): Promise<LineReport | "open" | null> {
    const id = toObjectId(this.#env.TASKS, taskId);
    return id ? this.#env.TASKS.get(id).lineReport(accountId) : null;
  }

  /** Asks the tasks that are open for unusually long: their reports may have been lost. */
  async #askOverdue(lines: OpenLines): Promise<void> {
    for (const [n, line] of lines.open) {
      if (line.since + askAfterMs > Date.now() || this.#chats.has(n)) continue;
      line.since = Date.now();
      const taskId = this.#store.assigned(n)?.[0];
      if (isChatId(taskId)) await this.#chats.settle((chat) => chat.n === n);
      const report = taskId === undefined ? "open" : await this.#askTask(this.#store.current.terms, taskId);
      if (report === "open" || this.#store.hasLine(n)) continue;
      if (report) this.#endWithTask(lines, n, taskId!, report);
      else if (lines.open.delete(n)) lines.putBack(n);
    }
  }

  // Starting lines

  /** Starts lines until as many are open as may be, one pass at a time. */
  #pump(): void {
    this.#isAsked = true;
    if (this.#pumping) return;
    this.#pumping = this.#pass()
      .catch(async (error: unknown) => {
        this.#isAsked = false;
        await this.#retryLater("retry", error);
      })
      .finally(() => {
        this.#pumping = undefined;
        if (this.#isAsked) this.#pump();
      });
    this.#ctx.waitUntil(this.#pumping);
  }

  /** Logs a fault; the alarm continues. */
  async #retryLater(outcome: "retry" | "line_retry", error: unknown): Promise<void> {
    alert("batch", { batch: this.#store.batch?.terms.id, outcome }, error);
    if (this.#store.batch) await this.#ctx.storage.setAlarm(Date.now() + retryMs.fault);
  }

  async #pass(): Promise<void> {
    const lines = await this.load();
    this.#isAsked = false;
    const budget = { lines: linesPerPass };
    await Promise.all(Array.from({ length: lanes }, () => this.#startLines(lines, budget)));
    const { batch } = this.#store;
    if (!batch || batch.endedAt !== undefined) return;
    if (lines.completed + lines.failed === batch.total) await this.#finish(batch);
    else if (budget.lines <= 0) {
      // Lines that are only refused wait for nothing: calls of the object come in between.
      await scheduler.wait(0);
      this.#isAsked = true;
    }
  }

  /** Starts one line after the other while there is room. Several of these run at once. */
  async #startLines(lines: OpenLines, budget: { lines: number }): Promise<void> {
    while (budget.lines > 0) {
      const { batch } = this.#store;
      if (!batch || batch.endedAt !== undefined || Date.now() < lines.notBefore) return;
      if (lines.taken >= batch.terms.concurrency && batch.stop === undefined) return;
      const n = lines.take(batch.total);
      if (n === undefined) return;
      budget.lines--;
      lines.starting.add(n);
      let isLeft = false;
      try {
        isLeft = !(await this.#startLine(lines, n));
      } catch (error) {
        isLeft = true;
        alert("batch", { batch: batch.terms.id, outcome: "line_retry" }, error);
        await this.#wait(lines, retryMs.fault);
      } finally {
        lines.starting.delete(n);
      }
      if (!isLeft) continue;
      lines.putBack(n);
      return;
    }
  }

  /** Nothing begins for this time; then the alarm continues. */
  async #wait(lines: OpenLines, ms: number): Promise<void> {
    lines.notBefore = Date.now() + ms;
    await this.#ctx.storage.setAlarm(lines.notBefore);
  }

  /** Makes the task of a line, or ends the line. False if it has to wait. */
  async #startLine(lines: OpenLines, n: number): Promise<boolean> {
    if (this.#store.hasLine(n) || lines.open.has(n)) return true;
    const start = () => this.#submitLine(lines, n);
    return isChatId(this.#store.assigned(n)?.[0]) ? this.#chats.inTurn(n, start) : start();
  }

  async #submitLine(lines: OpenLines, n: number): Promise<boolean> {
    const { terms, stop } = this.#store.current;
    if (stop !== undefined) return this.#refuse(lines, n, toStopError(stop, terms));
    const [taskId] = this.#store.assigned(n)!;
    const caller = await findCaller(this.#env, terms);
    if (!this.#store.batch) return true;
    if (!caller) {
      const ms = await this.waitForKey();
      if (ms !== undefined) await this.#wait(lines, ms);
      return false;
    }
    let line: Line;
    let checked: CheckedLine;
    try {
      line = parseLine(await this.#input.line(n), { customId: null });
      checked = await checkLine(this.#env, this.#ctx, terms, caller, line);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status >= 500) throw error;
      return this.#refuse(lines, n, toLineError(error, terms));
    }
    return this.#hold(lines, n, line, checked, taskId);
  }

  /** Counts the line's price against the limit, then makes its task. Between the two nothing else runs. */
  async #hold(lines: OpenLines, n: number, line: Line, checked: CheckedLine, taskId: string): Promise<boolean> {
    const { batch } = this.#store;
    if (!batch || this.#store.hasLine(n) || lines.open.has(n)) return true;
    const { terms } = batch;
    const { price, typicalSeconds } = checked;
    if (batch.stop !== undefined) {
      this.#isAsked = true;
      return false;
    }
    // The object's storage has an end at 10 GB, and its results are read and hashed in one invocation.
    if ("chat" in checked && this.#store.size > maxMiB * 2 ** 20)
      return this.#refuse(lines, n, toLineError(invalid("results", "image_too_large", { maximum: maxMiB }), terms));
    if (!lines.fits(price, terms.maxCost)) {
      // An open task may return some of its price.
      if (lines.open.size > 0) return false;
      return this.#refuse(lines, n, toLineError(new ApiError("cost_limit_exceeded"), terms));
    }
    lines.open.set(n, { price, since: Date.now() });
    this.#store.begin(n, taskId, price, typicalSeconds);
    if ("chat" in checked) return this.#holdChat(lines, n, line, checked.chat, taskId);
    const leave = () => void lines.open.delete(n);
    let made;
    try {
      made = await makeTask(this.#env, taskId, checked.task, { batch: this.#ctx.id.toString(), line: n });
    } catch (error) {
      // The outcome is unknown: the price stays counted until the task's object has answered.
      const report = await this.#askTask(terms, taskId);
      if (report === "open") return true;
      if (report !== null) {
        this.#endWithTask(lines, n, taskId, report);
        return true;
      }
      leave();
      if (!(error instanceof ApiError) || error.status >= 500) throw error;
      return this.#refuse(lines, n, toLineError(error, terms));
    }
    if ("task" in made) {
      this.#begun(lines);
      // It may have ended before this answer, or before a crash.
      if (made.task.status === "queued" || made.task.status === "in_progress" || this.#store.hasLine(n)) return true;
      const report = await this.#askTask(terms, taskId);
      if (report !== null && report !== "open") this.#endWithTask(lines, n, taskId, report);
      return true;
    }
    leave();
    return this.#refused(lines, n, made.refused, made.until);
  }

  /** Holds a chat's price, and asks for it while other lines go on. */
  async #holdChat(lines: OpenLines, n: number, line: Line, chat: CheckedChat, id: string): Promise<boolean> {
    const charge = toCharge(this.#store.current.terms, id, chat);
    // If it throws the price stays counted until the alarm has settled what may be held.
    const made = await this.#chats.hold(n, charge, chat.held).catch(async (error: unknown) => {
      lines.open.set(n, { price: chat.held, since: 0 });
      await this.#retryLater("line_retry", error);
    });
    if (!made || !this.#store.batch) return true;
    if (made.answer !== "reserved") {
      lines.open.delete(n);
      return this.#refused(lines, n, made.answer, made.until);
    }
    this.#begun(lines);
    const run = this.#runChat(lines, n, line, chat, charge).catch((error: unknown) => this.#retryLater("retry", error));
    this.#chats.follow(n, run, () => this.#pump());
    return true;
  }

  async #runChat(lines: OpenLines, n: number, line: Line, chat: CheckedChat, charge: Charge): Promise<void> {
    const mayRepeat = () => this.#store.current.stop === undefined && this.#countRefusal(lines, n) < maxRefusals;
    const end = await this.#chats.ask(n, line, chat, charge, mayRepeat);
    if (!end) return;
    if ("againAfterMs" in end) {
      lines.open.delete(n);
      lines.putBack(n);
      return this.#wait(lines, Math.max(retryMs.fault, end.againAfterMs));
    }
    lines.end(n, end.status, end.charged);
    await this.#chats.settle((one) => one.charge.taskId === charge.taskId);
  }

  #countRefusal(lines: OpenLines, n: number): number {
    const refusals = (lines.refusals.get(n) ?? 0) + 1;
    lines.refusals.set(n, refusals);
    return refusals;
  }

  /** A line has begun: the batch does not wait, unless another line was refused while this one was made. */
  #begun(lines: OpenLines): void {
    const batch = this.#store.current;
    if (batch.waiting && Date.now() >= lines.notBefore) this.#store.write({ ...batch, waiting: undefined });
  }

  /** What follows from a submission that was refused. */
  async #refused(lines: OpenLines, n: number, why: string, until?: number): Promise<boolean> {
    const { terms } = this.#store.current;
    if (why === "conflict") return this.#refuse(lines, n, toLineError(new ApiError("idempotency_conflict"), terms));
    if (why === "insufficient" || why === "budget" || why === "too_many") {
      const ms = this.#waitFor(why === "too_many" ? "open_tasks" : "balance", until);
      if (ms !== undefined) await this.#wait(lines, ms);
      return false;
    }
    if (this.#countRefusal(lines, n) >= maxRefusals) {
      // This object has got every answer about the id, and there is no task: it is never used again.
      lines.refusals.delete(n);
      this.#store.reassign(n, isChatId(this.#store.assigned(n)?.[0]) ? newChatId() : toTaskId(this.#env.TASKS.newUniqueId()));
    }
    await this.#wait(lines, retryMs.fault);
    return false;
  }

  /** No caller has the batch's key: a batch waits for a paused one, returns for how many milliseconds, and stops for any other. */
  async waitForKey(): Promise<number | undefined> {
    const { keyHash, keyId } = this.#store.current.terms;
    const key = await findKey(this.#env.DB, keyHash ?? keyId);
    if (!this.#store.batch) return undefined;
    if (key && key.pausedAt !== null && (key.expiresAt ?? Infinity) > Date.now()) return this.#waitFor("key");
    this.#store.stop("unauthorized");
    return undefined;
  }

  /** Notes what the batch waits for, and returns for how many milliseconds. undefined if no line has begun for too long: then the rest of them fail. */
  #waitFor(what: NonNullable<Batch["waiting"]>["for"], until = 0): number | undefined {
    const batch = this.#store.current;
    const now = Date.now();
    const isOpen = what === "open_tasks";
    // Waiting for open tasks in between does not begin the day again.
    const balanceSince = batch.waiting?.balanceSince ?? (isOpen ? undefined : now);
    const waited = now - (balanceSince ?? now);
    if (!isOpen && waited >= maxWaitMs) {
      this.#store.stop(what === "key" ? "unauthorized" : "insufficient_quota");
      this.#isAsked = true;
      return undefined;
    }
    const waiting = { for: what, ...(balanceSince !== undefined && { balanceSince }) };
    if (batch.waiting?.for !== what || batch.waiting.balanceSince !== balanceSince) this.#store.write({ ...batch, waiting });
    // Thousands of batches of an empty account ask less and less often.
    return isOpen ? retryMs.open_tasks : Math.max(retryMs.balance, Math.min(Math.max(until - now, waited / 10), 600_000));
  }

  // Ending lines

  /** Ends a line without a task. */
  #refuse(lines: OpenLines, n: number, error: object): true {
    if (!this.#store.batch || this.#store.hasLine(n)) return true;
    const [, , customId = null] = this.#store.assigned(n) ?? [];
    this.#store.putLine({ n, status: "failed", charged: 0, result: toResult(customId, { error }) });
    lines.end(n, "failed", 0);
    this.#isAsked = true;
    return true;
  }

  /** Ends a line with its task's end. */
  #endWithTask(lines: OpenLines, n: number, taskId: string, { status, charged, data }: LineReport): void {
    if (this.#store.hasLine(n)) return;
    const [, , customId = null] = this.#store.assigned(n) ?? [];
    const response = JSON.parse(data) as { cost?: object; error?: object; delivery?: object };
    const { error, cost, delivery } = response;
    const result = JSON.stringify({ custom_id: customId, status, task: taskId, response, ...(error && { error }), cost });
    this.#store.putLine({ n, status, charged, result, isDelivered: delivery !== undefined });
    lines.end(n, status, charged);
    this.#isAsked = true;
  }
}

/** The error of a line that does not begin any more. */
const toStopError = (stop: StopReason, terms: BatchTerms) =>
  stop === "cancelled" ? { code: stop, message: t(terms.language, stop), param: null } : toLineError(new ApiError(stop), terms);

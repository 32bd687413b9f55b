/** The run of a batch: begins lines while there is room, money and balance for them, and notes how they end. */

import { ApiError, invalid } from "../../base/errors.ts";
import { inLanes, lanes } from "../../base/concurrency.ts";
import { isChatId, newChatId, toObjectId, toTaskId } from "../../base/ids.ts";
import { alert } from "../../base/log.ts";
import type { Charge } from "../../db/ledger.ts";
import { t } from "../../messages/index.ts";
import type { LineReport } from "../../tasks/batch-line.ts";
import { isFinal, type Task } from "../../tasks/record.ts";
import { BatchChats, toCharge } from "./chats.ts";
import type { BatchInput } from "./input.ts";
import { type Line, parseLine } from "./lines.ts";
import { type NextLine, OpenLines } from "./open-lines.ts";
import { type Batch, type BatchStore, type BatchTerms, isOfChats, type StopReason, toKind } from "./state.ts";
import { type CheckedChat, type CheckedLine, checkLine, makeTask, toLineError, toResult } from "./submit-line.ts";
import { BatchWaits, findCaller } from "./waits.ts";

/** After this time the object asks for the state of a line that is still open. */
const askAfterMs = 900_000;
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

export class BatchRun {
  readonly #env: Env;
  readonly #ctx: DurableObjectState;
  readonly #store: BatchStore;
  readonly #input: BatchInput;
  readonly #finish: Around["finish"];
  readonly #chats: BatchChats;
  readonly waits: BatchWaits;
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
    this.waits = new BatchWaits(env.DB, store);
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
    // Again: a crash may have ended the first cancelling, and tasks may have been made during it.
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
        if (task && isWaiting(task)) await this.#env.TASKS.get(id).cancel({ view: "generic", language: "en", accountId, base: "" });
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
    const { begun } = this.#store.current;
    // What was held for a chat whose answer is lost is released, and the chat is asked again under another id.
    await this.settleChats();
    const last = Math.max(-1, ...Object.values(begun));
    const lines = new OpenLines(this.#store, last + 1);
    const asked: NextLine[] = [];
    for (let at = 0; at <= last; at++) {
      for (const { n, assigned } of this.#store.unended(at) ?? []) {
        const kind = toKind(assigned);
        if (isOfChats(kind) || at > (begun[kind] ?? -1)) lines.putBack({ n, kind });
        else {
          lines.open.set(n, { kind, price: assigned[1], since: Date.now() });
          asked.push({ n, kind });
        }
      }
    }
    await inLanes(asked, (line) => this.#askLine(lines, line));
    this.#lines = lines;
    return lines;
  }

  /** Asks how the task of an open line is: ends the line if the task has ended, and puts it back if there is no task. */
  async #askLine(lines: OpenLines, { n, kind }: NextLine): Promise<void> {
    const [taskId] = this.#store.accepted(n);
    const report = await this.#askTask(this.#store.current.terms, taskId);
    // Meanwhile it may have ended, or begun again as another task.
    if (report === "open" || this.#store.hasLine(n) || this.#store.accepted(n)[0] !== taskId) return;
    if (report) this.#endWithTask(lines, n, taskId, report);
    else if (lines.open.delete(n)) lines.putBack({ n, kind });
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
      const assigned = this.#store.accepted(n);
      if (isChatId(assigned[0])) await this.#chats.settle((chat) => chat.n === n);
      await this.#askLine(lines, { n, kind: toKind(assigned) });
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
    if (this.#store.batch) await this.#ctx.storage.setAlarm(Date.now() + this.waits.afterFault());
  }

  async #pass(): Promise<void> {
    const lines = await this.load();
    this.#isAsked = false;
    // A batch that waits for money or its key asks with one line: thousands of batches may wait for a day, and each line costs several calls.
    const waitsFor = this.#store.batch?.waiting?.for;
    const isAsking = waitsFor === "balance" || waitsFor === "key";
    const budget = { lines: isAsking ? 1 : linesPerPass };
    await Promise.all(Array.from({ length: isAsking ? 1 : lanes }, () => this.#startLines(lines, budget)));
    const { batch } = this.#store;
    if (!batch || batch.endedAt !== undefined) return;
    if (lines.completed + lines.failed === batch.total) return this.#finish(batch);
    if (budget.lines <= 0) {
      // Lines that are only refused wait for nothing: calls of the object come in between.
      await scheduler.wait(0);
      this.#isAsked = true;
    }
    await this.#armForWaits(lines);
  }

  /** Sets the alarm for the end of the next wait, but not later than open lines and the delivery of files need it. */
  async #armForWaits(lines: OpenLines): Promise<void> {
    const at = this.waits.nextEnd();
    const set = (await this.#ctx.storage.getAlarm()) ?? Infinity;
    const { batch } = this.#store;
    if (!batch || batch.endedAt !== undefined || batch.stop !== undefined || at === Infinity || at === set) return;
    if (at < set || (lines.open.size === 0 && batch.deliverAgainFrom === undefined)) await this.#ctx.storage.setAlarm(at);
  }

  /** Starts one line after the other while there is room. Several of these run at once. */
  async #startLines(lines: OpenLines, budget: { lines: number }): Promise<void> {
    while (budget.lines > 0) {
      const { batch } = this.#store;
      if (!batch || batch.endedAt !== undefined) return;
      const isStopped = batch.stop !== undefined;
      if (!isStopped && (this.waits.isOn() || lines.taken >= batch.terms.concurrency)) return;
      const next = lines.take((kind) => isStopped || this.#mayBegin(lines, kind));
      if (!next) return;
      budget.lines--;
      lines.starting.add(next.n);
      let isLeft = false;
      try {
        isLeft = !(await this.#startLine(lines, next));
      } catch (error) {
        isLeft = true;
        alert("batch", { batch: batch.terms.id, outcome: "line_retry" }, error);
        this.waits.begin(this.waits.afterFault(), next.kind);
      } finally {
        lines.starting.delete(next.n);
      }
      if (!isLeft) continue;
      lines.putBack(next);
      // While its kind waits, other kinds go ahead. Otherwise it waits for the end of an open line.
      if (this.#mayBegin(lines, next.kind) && this.#store.batch?.stop === undefined) return;
    }
  }

  #mayBegin(lines: OpenLines, kind: string): boolean {
    if (this.waits.isOn(kind)) return false;
    if (isOfChats(kind)) return this.#chats.hasRoom(lines.mayHaveTasks);
    // A task that waits for busy makers may do so for minutes.
    return !this.waits.isRefused(kind) || !lines.hasOpen(kind);
  }

  /** Makes the task of a line, or ends the line. False if it has to wait. */
  async #startLine(lines: OpenLines, next: NextLine): Promise<boolean> {
    const { n, kind } = next;
    if (this.#store.hasLine(n) || lines.open.has(n)) return true;
    const { terms, stop } = this.#store.current;
    if (stop !== undefined) return this.#refuse(lines, n, toStopError(stop, terms));
    if (this.waits.isGivenUp(kind)) return this.#refuse(lines, n, toLineError(new ApiError("unavailable"), terms));
    const start = () => this.#submitLine(lines, next);
    this.waits.lineBegins(kind);
    return isOfChats(kind) ? this.#chats.begin(n, start) : start();
  }

  async #submitLine(lines: OpenLines, next: NextLine): Promise<boolean> {
    const { n } = next;
    const { terms } = this.#store.current;
    const [taskId] = this.#store.accepted(n);
    const caller = await findCaller(this.#env, terms);
    if (!this.#store.batch) return true;
    if (!caller) {
      await this.waits.noteKey();
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
    return this.#hold(lines, next, line, checked, taskId);
  }

  /** Counts the line's price against the limit, then makes its task. Between the two nothing else runs. */
  async #hold(lines: OpenLines, next: NextLine, line: Line, checked: CheckedLine, taskId: string): Promise<boolean> {
    const { n, kind } = next;
    const { batch } = this.#store;
    if (!batch || this.#store.hasLine(n) || lines.open.has(n)) return true;
    const { terms } = batch;
    const { price, typicalSeconds } = checked;
    if (batch.stop !== undefined) return false;
    // The object's storage has an end at 10 GB, and its results are read and hashed in one invocation.
    if ("chat" in checked && this.#store.size > maxMiB * 2 ** 20)
      return this.#refuse(lines, n, toLineError(invalid("results", "image_too_large", { maximum: maxMiB }), terms));
    if (!lines.fits(price, terms.maxCost)) {
      // An open task may return some of its price.
      if (lines.open.size > 0) return false;
      return this.#refuse(lines, n, toLineError(new ApiError("cost_limit_exceeded"), terms));
    }
    lines.open.set(n, { kind, price, since: Date.now() });
    this.#store.begin(n, taskId, price, typicalSeconds);
    if ("chat" in checked) return this.#holdChat(lines, next, line, checked.chat, taskId);
    let fault: unknown;
    const made = await makeTask(this.#env, taskId, checked.task, { batch: this.#ctx.id.toString(), line: n }).catch((error: unknown) => {
      fault = error;
    });
    if (made && "task" in made) this.waits.lineBegan();
    if (!made || !("refused" in made)) {
      const isOpen = made && !isFinal(made.task);
      // It may have ended before this answer, or before a crash. Without an answer the price stays counted until the task's object has given one.
      const report = isOpen ? "open" : await this.#askTask(terms, taskId);
      if (report !== null && report !== "open") this.#endWithTask(lines, n, taskId, report);
      if (made || report !== null) return true;
    }
    lines.open.delete(n);
    if (made) return this.#refused(lines, next, made.refused, made.until);
    if (!(fault instanceof ApiError) || fault.status >= 500) throw fault;
    return this.#refuse(lines, n, toLineError(fault, terms));
  }

  /** Holds a chat's price, and asks for it while other lines go on. */
  async #holdChat(lines: OpenLines, next: NextLine, line: Line, chat: CheckedChat, id: string): Promise<boolean> {
    const { n, kind } = next;
    const charge = toCharge(this.#store.current.terms, id, chat);
    // If it throws the price stays counted until the alarm has settled what may be held.
    const made = await this.#chats.hold(n, charge, chat.held).catch(async (error: unknown) => {
      lines.open.set(n, { kind, price: chat.held, since: 0 });
      await this.#retryLater("line_retry", error);
    });
    if (!made || !this.#store.batch) return true;
    if (made.answer !== "reserved") {
      lines.open.delete(n);
      return this.#refused(lines, next, made.answer, made.until);
    }
    this.waits.lineBegan();
    const run = this.#runChat(lines, next, line, chat, charge).catch((error: unknown) => this.#retryLater("retry", error));
    this.#chats.follow(n, run, () => this.#pump());
    return true;
  }

  async #runChat(lines: OpenLines, next: NextLine, line: Line, chat: CheckedChat, charge: Charge): Promise<void> {
    const { n, kind } = next;
    const mayRepeat = (retryAfterMs: number) => this.#store.current.stop === undefined && this.waits.lineRefused(kind, retryAfterMs);
    const end = await this.#chats.ask(n, line, chat, charge, mayRepeat);
    if (!end) return;
    if (end === "again") {
      lines.open.delete(n);
      return lines.putLast(next);
    }
    this.waits.lineEnded(kind, end.isUnknown);
    lines.end(n, end.status, end.charged);
    await this.#chats.settle((one) => one.charge.taskId === charge.taskId);
  }

  /** What follows from a submission that was refused. */
  #refused(lines: OpenLines, { n, kind }: NextLine, why: string, until?: number): boolean {
    const { terms } = this.#store.current;
    switch (why) {
      case "conflict":
        return this.#refuse(lines, n, toLineError(new ApiError("idempotency_conflict"), terms));
      case "insufficient":
      case "budget":
        this.waits.note("balance", until);
        return false;
      case "too_many":
        this.waits.note("open_tasks", 0, kind);
        return false;
    }
    const refusals = (lines.refusals.get(n) ?? 0) + 1;
    lines.refusals.set(n, refusals);
    if (refusals >= maxRefusals) {
      // This object has got every answer about the id, and there is no task: it is never used again.
      lines.refusals.delete(n);
      this.#store.reassign(n, isOfChats(kind) ? newChatId() : this.#newTaskId());
    }
    this.waits.begin(this.waits.afterFault(), kind);
    return false;
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

  #newTaskId = () => toTaskId(this.#env.TASKS.newUniqueId());

  /** Ends a line with its task's end. One whose makers were busy waits for them, and is made again as another task. */
  #endWithTask(lines: OpenLines, n: number, taskId: string, { status, charged, data, isBusy, isUnknown }: LineReport): void {
    const assigned = this.#store.accepted(n);
    const [known, , customId] = assigned;
    if (known !== taskId || this.#store.hasLine(n)) return;
    const kind = toKind(assigned);
    const { stop, terms } = this.#store.current;
    if (isBusy && stop === undefined && this.waits.lineRefused(kind, 0)) {
      lines.open.delete(n);
      this.#store.reassign(n, this.#newTaskId());
      return lines.putLast({ n, kind });
    }
    if (isBusy) return void this.#refuse(lines, n, stop ? toStopError(stop, terms) : toLineError(new ApiError("unavailable"), terms));
    this.waits.lineEnded(kind, isUnknown);
    const response = JSON.parse(data) as { cost?: object; error?: object; delivery?: object };
    const { error, cost, delivery } = response;
    const result = JSON.stringify({ custom_id: customId, status, task: taskId, response, ...(error && { error }), cost });
    this.#store.putLine({ n, status, charged, result, isDelivered: delivery !== undefined });
    lines.end(n, status, charged);
    this.#isAsked = true;
  }
}

/** True for a task that no maker has: it is queued, or waits for busy makers. */
const isWaiting = ({ status, step, isUnknown, earlier }: Task) =>
  status === "queued" || (step.do === "start" && isUnknown !== true && earlier === undefined);

/** The error of a line that does not begin any more. */
const toStopError = (stop: StopReason, terms: BatchTerms) =>
  stop === "cancelled" ? { code: stop, message: t(terms.language, stop), param: null } : toLineError(new ApiError(stop), terms);

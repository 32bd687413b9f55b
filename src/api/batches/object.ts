/** The batch object: checks the lines of an input, keeps some of their tasks open, and collects their results. Task objects report their ends to it. */

import { DurableObject } from "cloudflare:workers";
import { ApiError } from "../../base/errors.ts";
import { lanes } from "../../base/concurrency.ts";
import { isChatId, newChatId, newFileId, toObjectId, toTaskId } from "../../base/ids.ts";
import { alert } from "../../base/log.ts";
import { retry } from "../../base/retry.ts";
import { batchVersion } from "../../base/versions.ts";
import { withRotatedSecrets } from "../../base/rotated-secrets.ts";
import { deleteBatch } from "../../db/batches.ts";
import { type Caller, findCallerByHash, findCallerById } from "../../db/callers.ts";
import { fileById, insertFile, type StoredFile } from "../../db/files.ts";
import { type Charge, toUnits } from "../../db/ledger.ts";
import { inJurisdiction } from "../../jurisdiction.ts";
import { t } from "../../messages/index.ts";
import { batchPrefix, removeAssets, removeUnder, storeFile } from "../../storage/assets.ts";
import { newFileObject } from "../../storage/files.ts";
import type { EndedLines, FailureGroup, LineQuery, LineReport } from "../../tasks/batch-line.ts";
import { askUnattended } from "../chat/unattended.ts";
import { type CheckedChat, reserveChat, toCharge } from "./chat-line.ts";
import { Checking } from "./checking.ts";
import { BatchInput } from "./input.ts";
import { type Line, parseLine } from "./lines.ts";
import {
  type Assigned,
  type Batch,
  BatchStore,
  type BatchTerms,
  type HeldChat,
  type LineFault,
  pageLines,
  type StopReason,
} from "./state.ts";
import { type CheckedLine, checkLine, makeTask, toLineError, toResult } from "./submit-line.ts";
import { type BatchView, toView } from "./view.ts";

/** Ended batches are kept as long as the records of tasks. */
const keptMs = 7 * 86_400_000;
/** How long a batch waits for balance. */
const maxWaitMs = 24 * 3_600_000;
/** The object wakes so often while lines are open: after a crash, and for an end whose report was lost. */
const watchMs = 60_000;
/** A line that is open for so long is asked about. */
const askAfterMs = 900_000;
const retryMs = { balance: 15_000, open_tasks: 3_000, fault: 5_000 };
/** How often the making of a task may be refused as unavailable before another id is chosen, because the wallet has closed this one. */
const maxRefusals = 3;
/** How many lines one pass starts: a pass belongs to an alarm or a call, which may not run for ever. */
const linesPerPass = 50 * lanes;
const resultBytes = 1024 * 1024;

/** The state of the lines in memory; the storage and the task objects lead to it again. */
interface Running {
  /** Lines whose tasks may be open: their price, and since when. */
  open: Map<number, { price: number; since: number }>;
  /** Lines that must be made before those at the cursor. */
  again: number[];
  /** The next line that never began. */
  next: number;
  completed: number;
  failed: number;
  charged: number;
  /** Lines that are being started. */
  starting: Set<number>;
  /** Refusals as unavailable, by line. */
  refusals: Map<number, number>;
  /** Nothing begins before this time. */
  notBefore: number;
}

export class BatchObject extends DurableObject<Env> {
  readonly #store: BatchStore;
  #batch: Batch | undefined;
  #input: BatchInput | undefined;
  #checking: Checking | undefined;
  #running: Running | undefined;
  #loading: Promise<Running> | undefined;
  #pumping: Promise<void> | undefined;
  /** The lines that are chats and begin or run, by number; undefined before a chat is held. */
  readonly #chats = new Map<number, Promise<void> | undefined>();
  /** Something changed while lines were being started. */
  #isAsked = false;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, inJurisdiction(withRotatedSecrets(env)));
    this.#store = new BatchStore(ctx.storage);
    this.#batch = this.#store.read();
  }

  /** The batch, in everything that runs only once there is one. */
  get #begun(): Batch {
    if (!this.#batch) throw new Error("the object has no batch");
    return this.#batch;
  }

  /** Begins a batch, or returns the one that the same request began; `conflict` if another request did. */
  async create(terms: BatchTerms): Promise<BatchView | "conflict"> {
    const known = this.#batch;
    if (known) return known.terms.fingerprint === terms.fingerprint ? this.#view(known) : "conflict";
    this.ctx.storage.transactionSync(() => {
      this.#store.clear();
      this.#commit({ terms, status: "validating", total: 0, begun: -1 });
      void this.ctx.storage.setAlarm(Date.now());
    });
    return this.#view(this.#begun);
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
    // The object may have left memory since lines began: which of them are open is known only to their tasks.
    if (batch.status === "in_progress" && !this.#running)
      await this.#load().catch((error: unknown) => alert("batch", { batch: batch.terms.id, outcome: "not_loaded" }, error));
    return this.#view(this.#begun);
  }

  /** Nothing new begins, and queued tasks are cancelled; running ones end. "final" if the batch has ended. */
  async cancel(accountId: string, ownWallets?: string[]): Promise<BatchView | "final" | null> {
    const batch = this.#ownedBy(accountId, ownWallets);
    if (!batch) return null;
    if (batch.endedAt !== undefined) return "final";
    this.#stop("cancelled");
    if (batch.status !== "validating") this.ctx.waitUntil(this.#cancelQueued());
    await this.ctx.storage.setAlarm(Date.now());
    return this.#view(this.#begun);
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
    for (const { n } of lines) if (this.#assignedTo(n)) text += `${new TextDecoder().decode(await this.#openInput().line(n))}\n`;
    return { text, next: hasMore ? lines.at(-1)!.n + 1 : undefined };
  }

  /** A task of the batch has ended and is settled. Repeating changes nothing. Throws if it cannot be stored: the task reports it again. */
  async lineEnded(n: number, taskId: string, report: LineReport): Promise<void> {
    if (!this.#batch || this.#batch.endedAt !== undefined) return;
    const running = await this.#load();
    const assigned = this.#assignedTo(n);
    if (assigned?.[0] !== taskId || this.#store.hasLine(n)) return;
    this.#endWithTask(running, n, taskId, report);
    this.#pump();
  }

  /** Removes the batch of an account that is erased. */
  async erase(accountId: string): Promise<void> {
    const batch = this.#ownedBy(accountId);
    if (!batch) return;
    await this.#forget(batch);
  }

  /** Runs what is due. Never throws, because the platform would drop the alarm after some retries. */
  override async alarm(): Promise<void> {
    const batch = this.#batch;
    if (!batch) return;
    try {
      if (batch.endedAt !== undefined) {
        if (batch.endedAt + keptMs <= Date.now()) await this.#forget(batch);
        else await this.ctx.storage.setAlarm(batch.endedAt + keptMs);
        return;
      }
      if (batch.status === "validating") return await this.#check(batch);
      // Set before the work: a crash in it is followed by this alarm.
      await this.ctx.storage.setAlarm(Date.now() + watchMs);
      const running = await this.#load();
      await this.#askOverdue(running);
      await this.#settleChats(({ n }) => this.#store.hasLine(n));
      this.#pump();
      await this.#pumping;
      // The object stays in memory while they run.
      await Promise.all([...this.#chats.values()].filter((run) => run !== undefined));
    } catch (error) {
      alert("batch", { batch: batch.terms.id, outcome: "retry" }, error);
      await this.ctx.storage.setAlarm(Date.now() + retryMs.fault);
    }
  }

  #ownedBy(accountId: string, ownWallets?: string[]): Batch | undefined {
    const terms = this.#batch?.terms;
    if (terms?.accountId !== accountId || (ownWallets && !ownWallets.includes(terms.keyId))) return undefined;
    return this.#batch;
  }

  #commit(batch: Batch): void {
    this.#store.write(batch);
    this.#batch = batch;
  }

  #view(batch: Batch): BatchView {
    const running = this.#running;
    const sums = running ?? (batch.status === "validating" ? { completed: 0, failed: 0, charged: 0 } : this.#store.sums());
    const reserved = [...(running?.open.values() ?? [])].reduce((sum, { price }) => sum + price, 0);
    return toView(batch, { ...sums, running: running?.open.size ?? 0, reserved });
  }

  #stop(reason: StopReason): void {
    const batch = this.#begun;
    if (batch.stop === undefined) this.#commit({ ...batch, stop: reason, waiting: undefined });
  }

  /** The caller as it is now: the key may have ended, its scope may have changed, and its owner may have lost the right to use it. */
  async #caller({ keyHash, keyId }: BatchTerms): Promise<Caller | undefined> {
    return keyHash === undefined ? findCallerById(this.env, keyId) : findCallerByHash(this.env, keyHash);
  }

  // Checking

  /** Checks some lines. All are checked before one begins. */
  async #check({ terms }: Batch): Promise<void> {
    const caller = await this.#caller(terms);
    if (!caller) this.#stop("unauthorized");
    const checking = (this.#checking ??= new Checking(this.env, this.ctx, this.#store, terms, this.#openInput()));
    let checked;
    try {
      checked = await checking.step(this.#begun.stop === undefined ? caller : undefined);
    } catch (error) {
      this.#checking = undefined;
      throw error;
    }
    if (!this.#batch) return;
    if (!checked) return this.ctx.storage.setAlarm(Date.now());
    this.#checking = undefined;
    const { total, price, faults } = checked;
    if (price === undefined) return this.#fail(faults);
    this.#commit({ ...this.#begun, status: "in_progress", total, expected: price });
    await this.ctx.storage.setAlarm(Date.now());
  }

  #openInput(): BatchInput {
    return (this.#input ??= new BatchInput(this.env.ASSETS, this.#begun.terms.id, this.#store));
  }

  /** No line could be read. */
  #fail(errors: LineFault[]): Promise<void> {
    this.#store.clear();
    return this.#end({ ...this.#begun, status: "failed", errors });
  }

  // Running

  /** The state in memory. After a crash the tasks of all lines that may have begun are asked before anything else begins. */
  #load(): Promise<Running> {
    if (this.#running) return Promise.resolve(this.#running);
    this.#loading ??= this.#reload().finally(() => (this.#loading = undefined));
    return this.#loading;
  }

  async #reload(): Promise<Running> {
    const batch = this.#begun;
    const running: Running = {
      open: new Map(),
      again: [],
      next: 0,
      ...this.#store.sums(),
      starting: new Set(),
      refusals: new Map(),
      notBefore: 0,
    };
    // What was held for a chat whose answer is lost is released, and the chat is asked again under another id.
    await this.#settleChats(() => true);
    const asked: { n: number; taskId: string; price: number }[] = [];
    for (let at = 0; at <= batch.begun; at++) {
      const page = this.#store.page(at)!;
      running.next = page.first + page.assigned.length;
      const ended = this.#store.endedLines(page.first, running.next);
      page.assigned.forEach((assigned, index) => {
        if (assigned && !ended.has(page.first + index)) asked.push({ n: page.first + index, taskId: assigned[0], price: assigned[1] });
      });
    }
    const left = asked.values();
    const ask = async () => {
      for (const { n, taskId, price } of left) {
        const report = await this.#askTask(batch.terms, taskId);
        if (report === "open") running.open.set(n, { price, since: Date.now() });
        else if (report === null) running.again.push(n);
        else this.#endWithTask(running, n, taskId, report);
      }
    };
    await Promise.all(Array.from({ length: lanes }, ask));
    running.again.sort((a, b) => a - b);
    this.#running = running;
    return running;
  }

  async #askTask({ accountId }: BatchTerms, taskId: string): Promise<LineReport | "open" | null> {
    const id = toObjectId(this.env.TASKS, taskId);
    return id ? this.env.TASKS.get(id).lineReport(accountId) : null;
  }

  /** Asks the tasks that are open for unusually long: their reports may have been lost. */
  async #askOverdue(running: Running): Promise<void> {
    for (const [n, line] of running.open) {
      if (line.since + askAfterMs > Date.now() || this.#chats.has(n)) continue;
      line.since = Date.now();
      const taskId = this.#assignedTo(n)?.[0];
      if (isChatId(taskId)) await this.#settleChats((chat) => chat.n === n);
      const report = taskId === undefined ? "open" : await this.#askTask(this.#begun.terms, taskId);
      if (report === "open" || this.#store.hasLine(n)) continue;
      if (report) this.#endWithTask(running, n, taskId!, report);
      else if (running.open.delete(n)) running.again.push(n);
    }
  }

  /** Cancels the tasks that no provider works on yet. */
  async #cancelQueued(): Promise<void> {
    const { accountId } = this.#begun.terms;
    for (const n of (await this.#load()).open.keys()) {
      const taskId = this.#assignedTo(n)?.[0];
      const id = taskId === undefined ? undefined : toObjectId(this.env.TASKS, taskId);
      if (!id) continue;
      try {
        const task = await this.env.TASKS.get(id).read(accountId);
        if (task?.status === "queued") await this.env.TASKS.get(id).cancel({ view: "generic", language: "en", accountId, base: "" });
      } catch (error) {
        alert("batch", { batch: this.#begun.terms.id, task: taskId, outcome: "not_cancelled" }, error); // it runs to its end
      }
    }
  }

  /** Starts lines until as many are open as may be, one run at a time. */
  #pump(): void {
    this.#isAsked = true;
    if (this.#pumping) return;
    this.#pumping = this.#pass()
      .catch(async (error: unknown) => {
        this.#isAsked = false;
        alert("batch", { batch: this.#batch?.terms.id, outcome: "retry" }, error);
        if (this.#batch) await this.ctx.storage.setAlarm(Date.now() + retryMs.fault);
      })
      .finally(() => {
        this.#pumping = undefined;
        if (this.#isAsked) this.#pump();
      });
    this.ctx.waitUntil(this.#pumping);
  }

  async #pass(): Promise<void> {
    const running = await this.#load();
    this.#isAsked = false;
    const budget = { lines: linesPerPass };
    await Promise.all(Array.from({ length: lanes }, () => this.#startLines(running, budget)));
    const batch = this.#batch;
    if (!batch || batch.endedAt !== undefined) return;
    if (running.completed + running.failed === batch.total) await this.#finish(batch);
    else if (budget.lines <= 0) this.#isAsked = true;
  }

  /** Starts one line after the other while there is room. Several of these run at once. */
  async #startLines(running: Running, budget: { lines: number }): Promise<void> {
    while (budget.lines > 0) {
      const batch = this.#batch;
      if (!batch || batch.endedAt !== undefined || Date.now() < running.notBefore) return;
      const { open, starting } = running;
      const taken = open.size + [...starting].filter((n) => !open.has(n)).length;
      if (taken >= batch.terms.concurrency && batch.stop === undefined) return;
      const n = running.again.shift() ?? (running.next < batch.total ? running.next++ : undefined);
      if (n === undefined) return;
      budget.lines--;
      starting.add(n);
      let isLeft = false;
      try {
        isLeft = !(await this.#startLine(running, n));
      } catch (error) {
        isLeft = true;
        alert("batch", { batch: batch.terms.id, outcome: "line_retry" }, error);
        await this.#wait(running, retryMs.fault);
      } finally {
        starting.delete(n);
      }
      if (!isLeft) continue;
      running.again.push(n);
      running.again.sort((a, b) => a - b);
      return;
    }
  }

  /** Nothing begins for this time; then the alarm continues. */
  async #wait(running: Running, ms: number): Promise<void> {
    running.notBefore = Date.now() + ms;
    await this.ctx.storage.setAlarm(running.notBefore);
  }

  /** Makes the task of a line, or ends the line. False if it has to wait. */
  async #startLine(running: Running, n: number): Promise<boolean> {
    if (this.#store.hasLine(n) || running.open.has(n)) return true;
    const assigned = this.#assignedTo(n);
    if (!isChatId(assigned?.[0])) return this.#submitLine(running, n);
    if (this.#chats.size >= lanes) return false;
    this.#chats.set(n, undefined);
    try {
      return await this.#submitLine(running, n);
    } finally {
      if (!this.#chats.get(n)) this.#chats.delete(n);
    }
  }

  async #submitLine(running: Running, n: number): Promise<boolean> {
    const text = await this.#openInput().line(n);
    const assigned = this.#assignedTo(n);
    if (!this.#batch) return true;
    const { terms, stop } = this.#batch;
    const line = parseLine(text, { customId: null });
    if (stop !== undefined) return this.#refuse(running, n, line, toStopError(stop, terms));
    if (!assigned) throw new Error("a valid line has no task");
    const caller = await this.#caller(terms);
    if (!caller) {
      this.#stop("unauthorized");
      return false;
    }
    let checked: CheckedLine;
    try {
      checked = await checkLine(this.env, this.ctx, terms, caller, line);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status >= 500) throw error;
      return this.#refuse(running, n, line, toLineError(error, terms));
    }
    return this.#hold(running, n, line, checked, assigned[0]);
  }

  /** Counts the line's price against the limit, then makes its task. Between the two nothing else runs. */
  async #hold(running: Running, n: number, line: Line, checked: CheckedLine, taskId: string): Promise<boolean> {
    const batch = this.#batch;
    if (!batch || this.#store.hasLine(n) || running.open.has(n)) return true;
    const { terms } = batch;
    const { price, typicalSeconds } = checked;
    if (batch.stop !== undefined) {
      this.#isAsked = true;
      return false;
    }
    const held = [...running.open.values()].reduce((sum, open) => sum + open.price, 0);
    if (terms.maxCost !== undefined && running.charged + held + price > terms.maxCost) {
      // An open task may return some of its price.
      if (running.open.size > 0) return false;
      return this.#refuse(running, n, line, toLineError(new ApiError("cost_limit_exceeded"), terms));
    }
    running.open.set(n, { price, since: Date.now() });
    this.#begin(n, taskId, price, typicalSeconds);
    if ("chat" in checked) return this.#holdChat(running, n, line, checked.chat, taskId);
    const leave = () => void running.open.delete(n);
    let made;
    try {
      made = await makeTask(this.env, taskId, checked.task, { batch: this.ctx.id.toString(), line: n });
    } catch (error) {
      // The outcome is unknown: the price stays counted until the task's object has answered.
      const report = await this.#askTask(terms, taskId);
      if (report === "open") return true;
      if (report !== null) {
        this.#endWithTask(running, n, taskId, report);
        return true;
      }
      leave();
      if (!(error instanceof ApiError) || error.status >= 500) throw error;
      return this.#refuse(running, n, line, toLineError(error, terms));
    }
    if ("task" in made) {
      // Not if another line was refused while this one was made.
      if (Date.now() >= running.notBefore) this.#notWaiting();
      // It may have ended before this answer, or before a crash.
      if (made.task.status === "queued" || made.task.status === "in_progress" || this.#store.hasLine(n)) return true;
      const report = await this.#askTask(terms, taskId);
      if (report !== null && report !== "open") this.#endWithTask(running, n, taskId, report);
      return true;
    }
    leave();
    return this.#refused(running, n, line, made.refused, made.until);
  }

  /** Holds a chat's price, and asks for it while other lines go on. */
  async #holdChat(running: Running, n: number, line: Line, chat: CheckedChat, id: string): Promise<boolean> {
    const charge = toCharge(this.#begun.terms, id, chat);
    const { held } = chat;
    this.#store.putChat({ n, charge, held, charged: 0, outcome: "provider_error" });
    // If it throws the price stays counted until the alarm has settled what may be held.
    const made = await reserveChat(this.env, charge, held).catch(async (error: unknown) => {
      running.open.set(n, { price: held, since: 0 });
      alert("batch", { batch: this.#begun.terms.id, outcome: "line_retry" }, error);
      await this.ctx.storage.setAlarm(Date.now() + retryMs.fault);
    });
    if (!made || !this.#batch) return true;
    if (made.answer !== "reserved") {
      this.#store.deleteChat(id);
      running.open.delete(n);
      return this.#refused(running, n, line, made.answer, made.until);
    }
    if (Date.now() >= running.notBefore) this.#notWaiting();
    const run = this.#runChat(running, n, line, chat, charge)
      .catch(async (error: unknown) => {
        alert("batch", { batch: this.#batch?.terms.id, outcome: "retry" }, error);
        if (this.#batch) await this.ctx.storage.setAlarm(Date.now() + retryMs.fault);
      })
      .finally(() => {
        this.#chats.delete(n);
        this.#pump();
      });
    this.#chats.set(n, run);
    this.ctx.waitUntil(run);
    return true;
  }

  async #runChat(running: Running, n: number, line: Line, chat: CheckedChat, charge: Charge): Promise<void> {
    const { terms } = this.#begun;
    const asker = { env: this.env, background: this.ctx, requestId: terms.requestId, accountId: terms.accountId, files: chat.files };
    const { result, charged, outcome, attempts } = await askUnattended(asker, charge.taskId, chat);
    if (!this.#batch || this.#store.hasLine(n)) return;
    const { held } = chat;
    const settle = () => this.#settleChats((one) => one.charge.taskId === charge.taskId);
    const refusals = (running.refusals.get(n) ?? 0) + 1;
    const isRepeated = "error" in result && result.error.code === "unavailable" && charged === 0 && refusals < maxRefusals;
    const ended = { n, charge, held, charged, outcome, attempts };
    if (isRepeated && this.#begun.stop === undefined) {
      running.refusals.set(n, refusals);
      this.#store.putChat(ended);
      // Counted until it is released; then the line has another id.
      await settle();
      running.open.delete(n);
      running.again.push(n);
      running.again.sort((a, b) => a - b);
      return this.#wait(running, Math.max(retryMs.fault, 1000 * Math.min(result.error.retryAfter ?? 0, 60)));
    }
    const cost = { reserved: toUnits(held), charged: toUnits(charged), returned: toUnits(held - charged) };
    const status = "answer" in result ? "completed" : "failed";
    const found = "answer" in result ? { response: result.answer } : { error: toLineError(result.error, terms) };
    const shown = terms.openAi && { openai: line.openAi };
    this.#store.endChat(
      { n, status, charged, result: JSON.stringify({ custom_id: line.customId, status, ...found, cost, ...shown }) },
      ended,
    );
    running.open.delete(n);
    running.charged += charged;
    running[status]++;
    await settle();
  }

  /** Settles the chats that `isMeant` selects. Repeating is safe. Throws if a wallet does not answer. */
  async #settleChats(isMeant: (chat: HeldChat) => boolean): Promise<void> {
    for (const chat of this.#store.chats().filter(isMeant)) {
      const { n, charge, charged, outcome, held, attempts } = chat;
      await retry("settle", charge.taskId, async () =>
        this.env.WALLETS.getByName(charge.accountId).settle(charge, charged, outcome, held, undefined, attempts),
      );
      if (!this.#batch) return;
      this.#store.deleteChat(charge.taskId);
      if (this.#assignedTo(n)?.[0] === charge.taskId && !this.#store.hasLine(n)) this.#reassign(n, newChatId());
    }
  }

  /** What follows from a submission that was refused. */
  async #refused(running: Running, n: number, line: Line, why: string, until?: number): Promise<boolean> {
    const { terms } = this.#begun;
    if (why === "conflict") return this.#refuse(running, n, line, toLineError(new ApiError("idempotency_conflict"), terms));
    if (why === "insufficient" || why === "budget") {
      if (this.#waitFor("balance")) await this.#wait(running, Math.max(retryMs.balance, Math.min((until ?? 0) - Date.now(), 600_000)));
      return false;
    }
    if (why === "too_many") {
      this.#waitFor("open_tasks");
      await this.#wait(running, retryMs.open_tasks);
      return false;
    }
    const refusals = (running.refusals.get(n) ?? 0) + 1;
    running.refusals.set(n, refusals);
    if (refusals >= maxRefusals) {
      // This object has got every answer about the id, and there is no task: it is never used again.
      running.refusals.delete(n);
      this.#reassign(n, isChatId(this.#assignedTo(n)?.[0]) ? newChatId() : toTaskId(this.env.TASKS.newUniqueId()));
    }
    await this.#wait(running, retryMs.fault);
    return false;
  }

  /** Writes before a line begins what a crash must not lose: that lines of its page may have begun, and a price that has risen. */
  #begin(n: number, taskId: string, price: number, typicalSeconds: number): void {
    const at = Math.floor(n / pageLines);
    const batch = this.#begun;
    if (batch.begun < at) this.#commit({ ...batch, begun: at, typicalSeconds });
    if ((this.#assignedTo(n)?.[1] ?? 0) < price) this.#reassign(n, taskId, price);
  }

  #assignedTo(n: number): Assigned {
    return this.#store.page(Math.floor(n / pageLines))?.assigned[n % pageLines] ?? null;
  }

  #reassign(n: number, taskId: string, price?: number): void {
    const page = this.#store.page(Math.floor(n / pageLines))!;
    const [, before = 0, customId = "", ...place] = page.assigned[n % pageLines] ?? [];
    page.assigned[n % pageLines] = [taskId, price ?? before, customId, ...place];
    this.#store.putPage(page);
  }

  /** Notes what the batch waits for. False if it has had no balance for too long: then the rest of the lines fail. */
  #waitFor(what: "balance" | "open_tasks"): boolean {
    const batch = this.#begun;
    // Waiting for open tasks in between does not begin the day again.
    const balanceSince = batch.waiting?.balanceSince ?? (what === "balance" ? Date.now() : undefined);
    if (what === "balance" && balanceSince !== undefined && balanceSince + maxWaitMs <= Date.now()) {
      this.#stop("insufficient_quota");
      this.#isAsked = true;
      return false;
    }
    const waiting = { for: what, ...(balanceSince !== undefined && { balanceSince }) };
    if (batch.waiting?.for !== what || batch.waiting.balanceSince !== balanceSince) this.#commit({ ...batch, waiting });
    return true;
  }

  #notWaiting(): void {
    const batch = this.#begun;
    if (batch.waiting) this.#commit({ ...batch, waiting: undefined });
  }

  /** Ends a line without a task. */
  #refuse(running: Running, n: number, line: Line, error: object): true {
    if (!this.#batch || this.#store.hasLine(n)) return true;
    this.#store.putLine({ n, status: "failed", charged: 0, result: toResult(line.customId, { error }) });
    running.failed++;
    this.#isAsked = true;
    return true;
  }

  /** Ends a line with its task's end. */
  #endWithTask(running: Running, n: number, taskId: string, { status, charged, data }: LineReport): void {
    if (this.#store.hasLine(n)) return;
    const [, , customId = null] = this.#assignedTo(n) ?? [];
    const response = JSON.parse(data) as { cost?: object; error?: object };
    const { error, cost } = response;
    const result = JSON.stringify({ custom_id: customId, status, task: taskId, response, ...(error && { error }), cost });
    this.#store.putLine({ n, status, charged, result });
    running.open.delete(n);
    running.charged += charged;
    running[status]++;
    this.#isAsked = true;
  }

  // The end

  /** Stores the results as a file of the account, then ends the batch. A repeat stores them again. */
  async #finish(batch: Batch): Promise<void> {
    await this.#settleChats(() => true);
    if (batch.resultsFile === undefined) await this.#storeResults(batch.terms);
    await this.#end({ ...this.#begun, status: batch.stop === "cancelled" ? "cancelled" : "completed", waiting: undefined });
  }

  async #storeResults({ accountId, keyId, id }: BatchTerms): Promise<void> {
    const file = this.#begun.results ?? (await this.#writeResults({ accountId, keyId, id }));
    if (!this.#batch) return;
    // Chosen before it is added: after a crash between the two the same file is added.
    this.#commit({ ...this.#batch, results: file });
    if (!(await fileById(this.env.DB, { accountId }, file.id, Date.now()))) {
      // Results are never refused for their size; they count.
      const replaced = await insertFile(this.env.DB, file, Number.MAX_SAFE_INTEGER);
      await removeAssets(this.env.ASSETS, replaced ?? []);
    }
    if (this.#batch) this.#commit({ ...this.#batch, resultsFile: file.id });
  }

  async #writeResults({ accountId, keyId, id }: Pick<BatchTerms, "accountId" | "keyId" | "id">): Promise<StoredFile> {
    const object = newFileObject(accountId);
    const store = this.#store;
    const pieces = async function* () {
      const encoder = new TextEncoder();
      for (let from: number | undefined = 0; from !== undefined;) {
        const part: ReturnType<BatchStore["results"]> = store.results(from, resultBytes);
        if (part.text !== "") yield encoder.encode(part.text);
        from = part.next;
      }
    };
    const type = "application/jsonl";
    const { bytes, digest } = await storeFile(this.env.ASSETS, object, pieces(), { type, maxBytes: Infinity });
    const now = Date.now();
    const createdAt = now - (now % 1000);
    return { id: newFileId(digest), accountId, type, bytes, name: `${id}.jsonl`, object, createdAt, expiresAt: createdAt + keptMs, keyId };
  }

  async #end(batch: Batch): Promise<void> {
    const ended = { ...batch, endedAt: Date.now() };
    const { terms } = batch;
    // Before the end is written: a crash between the two sends the message again, with the same id.
    const view = toView(ended, { ...this.#store.sums(), running: 0, reserved: 0 });
    const { accountId, callbackUrl, id, host } = terms;
    await this.env.NOTIFY.send({ v: batchVersion, batchEnded: { id, accountId, callbackUrl, host, at: ended.endedAt, data: view } });
    this.ctx.storage.transactionSync(() => {
      this.#commit(ended);
      void this.ctx.storage.setAlarm(ended.endedAt + keptMs);
    });
    this.#running = undefined;
  }

  async #forget({ terms: { accountId, id } }: Batch): Promise<void> {
    await removeUnder(this.env.ASSETS, batchPrefix(id));
    await deleteBatch(this.env.DB, accountId, id);
    this.#batch = this.#running = this.#checking = this.#input = undefined;
    await this.ctx.storage.deleteAll();
  }
}

/** The error of a line that does not begin any more. */
const toStopError = (stop: StopReason, terms: BatchTerms) =>
  stop === "cancelled" ? { code: stop, message: t(terms.language, stop), param: null } : toLineError(new ApiError(stop), terms);

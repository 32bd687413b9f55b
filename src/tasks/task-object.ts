/** The task object: owns one task's record, its transitions and its timers. Queue consumers do the slow work. */

import { DurableObject } from "cloudflare:workers";
import { chargesCancelled, lifeTimes, signingSecret } from "../config.ts";
import { toTaskId } from "../ids.ts";
import { inJurisdiction } from "../jurisdiction.ts";
import { alert } from "../log.ts";
import * as callbacks from "./callback.ts";
import { continueOpen } from "./continuing.ts";
import { type CreateAnswer, createTask } from "./creating.ts";
import { continueEnded, settleEnded } from "./ending.ts";
import * as leases from "./leases.ts";
import { sendCallback } from "./messages.ts";
import type { CallbackWork } from "./notify.ts";
import { toReceipt } from "./receipt.ts";
import { signReceipt } from "../receipt-keys.ts";
import { commonHeaders } from "./view-headers.ts";
import { type Answer, answerStatusQuery, type Question, toResponse } from "./status-answer.ts";
import { logFields, reportToWallet } from "./settle.ts";
import { canCancel, pollEarlier, type Poller } from "./poll.ts";
import { calledBack } from "./called-back.ts";
import { PollTurn } from "./poll-turn.ts";
import { RecordStore } from "./record-store.ts";
import * as afterEnd from "./after-end.ts";
import * as outcomes from "./outcomes.ts";
import * as transitions from "./task.ts";
import { type FinalTask, isFinal, type Submission, type Task } from "./record.ts";
import { noteDuration } from "./typical-times.ts";
import { isNewer, submissionVersion } from "../versions.ts";
import type { StepOutcome, Work } from "./work.ts";

export class TaskObject extends DurableObject<Env> {
  readonly #record: RecordStore;
  readonly #turn = new PollTurn();
  #creating: Promise<CreateAnswer> | undefined;
  #settling: Promise<void> | undefined;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, inJurisdiction(env));
    this.#record = new RecordStore(ctx.storage, lifeTimes(env));
  }

  /**
   * Accepts a submission: writes the record, reserves the price, sends the message. A repeat returns the existing task; `created` is true
   * if this request, possibly in an earlier attempt, created it, and false if another request did.
   */
  async create(submission: Submission): Promise<CreateAnswer> {
    if (this.#creating) return this.#creating;
    if (isNewer(submission, submissionVersion)) return { refused: "unavailable" };
    if (this.#record.task?.isDeleted) return { refused: "conflict" };
    // A submission that was given up: the caller got an error, so a repeat must not create the task while its reservation is being
    // released. The alarm also gives up a record of the previous version, whose price D1 held.
    if (this.#record.task?.step.do === "reserve" && (this.#record.task.faults > 0 || !this.#record.task.heldBy))
      return { refused: "unavailable" };
    if (this.#record.task && this.#record.task.step.do !== "reserve")
      return { task: this.#record.task, created: this.#record.task.submission.requestId === submission.requestId };
    const created = createTask(toTaskId(this.ctx.id), submission, this.#record, this.env);
    this.#creating = created.finally(() => (this.#creating = undefined));
    return this.#creating;
  }

  /** The record, for its owner only. Writes nothing and makes no other call. */
  async read(accountId: string): Promise<Task | null> {
    // Waits for the first settlement: a caller that sees "completed" may read the balance next.
    if (this.#settling) await Promise.race([this.#settling, scheduler.wait(2_000)]);
    const task = this.#ownedBy(accountId);
    if (!task) return null;
    if (transitions.wakeAt(task) >= Date.now() - 5_000) return task;
    await this.#record.rearm(task);
    return this.#ownedBy(accountId) ?? null;
  }

  /**
   * The answer to its owner's status query, for `http: task/{request id}/{limit or -}/{view}/{language}/{account}/{base}`. A response,
   * which the Worker passes on unread: this is cheaper than a value that would be serialised, parsed and serialised again.
   */
  override async fetch({ url }: Request): Promise<Response> {
    const [, , , requestId = "", limit = "", view, language, accountId = ""] = url.split("/", 8);
    const question = { view, language, accountId, base: url.slice(url.indexOf(`/${accountId}/`) + accountId.length + 2) } as Question;
    const task = await this.read(accountId);
    const answer = task && (await this.#answer(question, task));
    return answer ? toResponse(answer, question.language, commonHeaders(requestId, limit)) : new Response(null, { status: 404 });
  }

  #answer(question: Question, task: Task): Promise<Answer | null> {
    return answerStatusQuery(question, task, {
      secret: () => signingSecret(this.env),
      recordMs: () => lifeTimes(this.env).recordMs,
      now: Date.now(),
    });
  }

  /** True if the step is still leased to this consumer; checked after inputs were opened, right before a request that costs money. */
  async holdsLease(lease: string): Promise<boolean> {
    return this.#record.task !== undefined && transitions.leased(this.#record.task, lease) !== undefined;
  }

  /** Cancels the task at its owner's request. null if the task does not exist, "final" if it had ended already. */
  async cancel(question: Question): Promise<Answer | "final" | null> {
    const task = this.#ownedBy(question.accountId);
    if (!task) return null;
    if (isFinal(task)) return "final";
    const rules = { chargesAccepted: chargesCancelled(this.env), canCancel: canCancel(task, this.env) };
    return this.#answer(question, await this.#end(outcomes.cancelled(task, rules, Date.now())));
  }

  /**
   * Deletes a final task's files and record for its owner; its rows in the ledger stay. null if the task does not exist, "open" if it has
   * not ended, "unavailable" if its settlement fails. Files that cannot be deleted at once are deleted by the alarm.
   */
  async remove(accountId: string): Promise<"removed" | "open" | "unavailable" | null> {
    const read = await this.read(accountId);
    if (read && isFinal(read) && read.step.do === "settle") await settleEnded(read, this.#record, this.env);
    const task = this.#ownedBy(accountId);
    if (!task) return null;
    if (!isFinal(task)) return "open";
    if (task.step.do === "settle") return "unavailable";
    this.ctx.storage.kv.delete("receipt"); // the reference contains the caller's own name for the task
    this.#record.commit(afterEnd.deleted(task, Date.now()));
    await this.alarm();
    return "removed";
  }

  /** The task if it was accepted, and if this account owns it and has not deleted it. */
  #ownedBy(accountId: string): Task | undefined {
    const { task } = this.#record;
    return task && task.submission.accountId === accountId && task.step.do !== "reserve" && !task.isDeleted ? task : undefined;
  }

  /** Leases the waiting work to the consumer; null for a duplicate or late message. */
  async claim(): Promise<Work | null> {
    // After a crash the record is still at `poll` although the message of its finished work was sent, because that state is not written.
    // The poll is repeated.
    const { step } = this.#record.task ?? {};
    if (step?.do === "poll" && step.at <= Date.now()) await this.alarm();
    return leases.claimStep(this.#record, this.env);
  }

  /** Applies the outcome of a leased step. False if the lease is no longer valid: the consumer then deletes its files. */
  report(lease: string, step: StepOutcome): Promise<boolean> {
    return leases.reportStep(lease, step, this.#poller(), (task) => this.#settle(task));
  }

  /** Applies a transition after which the task may be final. */
  async #go(next: Task): Promise<void> {
    if (isFinal(next)) await this.#end(next);
    else this.#record.commit(next);
  }

  /** The provider has called the task's URL, with any content: polls it. With `canCollect` finished work is leased to the caller; otherwise null. */
  async calledBack(provider: string, canCollect = false): Promise<Work | null> {
    return (await calledBack(provider, { ...this.#poller(), canCollect })) ? leases.claimStep(this.#record, this.env) : null;
  }

  /** The task's message is in the dead-letter queue: no consumer will do the work, so the task fails and the price is released. */
  async failDeadLetter(): Promise<void> {
    const task = this.#record.task;
    if (!task || isFinal(task) || (task.step.do !== "start" && task.step.do !== "collect")) return;
    alert("dispatch", { ...logFields(task), outcome: "dead_letter" });
    await this.#end(outcomes.failed(task, "provider_error", Date.now()));
  }

  /** Leases the waiting call of the receiver to the consumer; null for a duplicate or late message. */
  async claimCallback(): Promise<CallbackWork | null> {
    return leases.claimCallback(this.#record);
  }

  /** Applies the report of a leased call. Ignored without a valid lease. */
  reportCallback(lease: string, report: callbacks.CallbackReport): Promise<void> {
    return leases.reportCallback(lease, report, this.#record, this.env);
  }

  /** Calls the receiver of a final task again, at its owner's request. null if the task does not exist, "open" if it is not final. */
  async repeatCallback(accountId: string): Promise<Task | "open" | null> {
    const task = this.#ownedBy(accountId);
    if (!task) return null;
    if (!isFinal(task)) return "open";
    const begun = this.#record.commit(callbacks.callbackBegun(task, Date.now()));
    await sendCallback(begun, this.env);
    return begun;
  }

  /**
   * The receipt of a final task as a JWS; null if the task does not exist, "open" if it is not final. Stored when it is first made, because
   * a later key would sign it differently.
   */
  async receipt(accountId: string): Promise<string | null> {
    const task = await this.read(accountId);
    if (!task) return null;
    if (!isFinal(task)) return "open";
    const { kv } = this.ctx.storage;
    const made = kv.get<string>("receipt") ?? (await signReceipt(toReceipt(task), this.env));
    if (!this.#ownedBy(accountId)) return null; // the task was deleted in the meantime
    const kept = kv.get<string>("receipt");
    if (kept === undefined) kv.put("receipt", made);
    return kept ?? made;
  }

  /**
   * Runs the overdue step, then reports to the account's wallet, which may have lost its storage, what the task holds or was charged.
   * "settled" if the task has ended, "gone" if it has no record.
   */
  async tellWallet(accountId: string): Promise<"settled" | "open" | "gone"> {
    if (this.#record.task && transitions.wakeAt(this.#record.task) < Date.now()) await this.alarm();
    const { task } = this.#record;
    if (task?.submission.accountId !== accountId) return "gone";
    if (task.step.do === "reserve") return "open";
    await reportToWallet(task, this.env);
    return isFinal(task) ? "settled" : "open";
  }

  /** Runs one due step. Never throws, because the platform would retry a throw six times and then drop the alarm. */
  override async alarm(): Promise<void> {
    this.#record.alarmFired();
    const task = this.#record.task;
    if (!task) return;
    try {
      await this.#perform(task);
      if (this.#record.task) await this.#record.rearm(this.#record.task);
    } catch (error) {
      alert("alarm", { ...logFields(task), outcome: "fault" }, error);
      await this.#record.retryIn(5_000);
    }
  }

  async #perform(task: Task): Promise<void> {
    if (!isFinal(task)) return continueOpen(task, this, this.#poller());
    const due = transitions.due(task, Date.now());
    if (due === "poll_earlier") return this.#turn.run(() => pollEarlier(task, this.#poller()));
    if (due !== undefined) return continueEnded(task, due, this, this.#record, this.env);
  }

  #poller(): Poller {
    return { env: this.env, record: this.#record, go: (next) => this.#go(next), turn: this.#turn };
  }

  /** Makes the task final and settles it; if the ledger does not answer, the alarm retries. */
  async #end(final: FinalTask): Promise<Task> {
    const task = this.#record.commit(final);
    // Only if the first route completed the task: the duration with a fallback route is not typical of the first route.
    if (task.status === "completed" && task.attempts.length === 0) noteDuration(this.env.DB, this.ctx, task);
    await this.#settle(task);
    return this.#record.task ?? task;
  }

  #settle(task: FinalTask): Promise<void> {
    this.#settling ??= settleEnded(task, this.#record, this.env).finally(() => (this.#settling = undefined));
    return this.#settling;
  }
}

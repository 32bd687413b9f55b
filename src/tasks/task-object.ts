/** The task object: owns one task's record, its transitions and its timers. Consumers do the slow work. */

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
import { logFields, tellWallet } from "./settle.ts";
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
   * Accepts a submission: first the record, then the reservation, then the message. A repeat returns the existing task;
   * `created` is true if that is this request's own, repeated, and false if it is another's.
   */
  async create(submission: Submission): Promise<CreateAnswer> {
    if (this.#creating) return this.#creating;
    if (isNewer(submission, submissionVersion)) return { refused: "unavailable" };
    if (this.#record.task?.isDeleted) return { refused: "conflict" };
    // Given up: the caller was told that there is no task, so a repeat must not make one while the ledger is asked to give back.
    // A record of the version before, which held money in D1, is given up too, by its alarm.
    if (this.#record.task?.step.do === "reserve" && (this.#record.task.faults > 0 || !this.#record.task.heldBy))
      return { refused: "unavailable" };
    if (this.#record.task && this.#record.task.step.do !== "reserve")
      return { task: this.#record.task, created: this.#record.task.submission.requestId === submission.requestId };
    const created = createTask(toTaskId(this.ctx.id), submission, this.#record, this.env);
    this.#creating = created.finally(() => (this.#creating = undefined));
    return this.#creating;
  }

  /** The record, for its owner only. No write, no other call. */
  async read(accountId: string): Promise<Task | null> {
    // During the first settlement, wait: a caller that sees "completed" may read the balance next.
    if (this.#settling) await Promise.race([this.#settling, scheduler.wait(2_000)]);
    const task = this.#ownedBy(accountId);
    if (!task) return null;
    if (transitions.wakeAt(task) >= Date.now() - 5_000) return task;
    await this.#record.rearm(task);
    return this.#ownedBy(accountId) ?? null;
  }

  /**
   * The answer to its owner's status query, for `http://task/{request id}/{limit or -}/{view}/{language}/{account}/{base}`. It is a
   * response, which the Worker passes on unread: cheaper than a value that is sent, parsed and serialised again.
   */
  override async fetch(request: Request): Promise<Response> {
    const [requestId = "", limit = "", view, language, accountId, ...base] = request.url.slice("http://task/".length).split("/");
    const question = { view, language, accountId, base: base.join("/") } as Question;
    const task = await this.read(question.accountId);
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

  /** True if the step is still leased to this consumer: checked right before a request that costs money. */
  async holdsLease(lease: string): Promise<boolean> {
    return this.#record.task !== undefined && transitions.leased(this.#record.task, lease) !== undefined;
  }

  /** Ends the task at its owner's request. null when there is none, "final" when it had ended already. */
  async cancel(question: Question): Promise<Answer | "final" | null> {
    const task = this.#ownedBy(question.accountId);
    if (!task) return null;
    if (isFinal(task)) return "final";
    const rules = { chargesAccepted: chargesCancelled(this.env), canCancel: canCancel(task, this.env) };
    return this.#answer(question, await this.#end(outcomes.cancelled(task, rules, Date.now())));
  }

  /**
   * Deletes a final task's files and record for its owner; its rows in the ledger stay. null when there is none, "open" when it has not
   * ended, "unavailable" when its settlement does not come through. Files that do not go at once go by alarm.
   */
  async remove(accountId: string): Promise<"removed" | "open" | "unavailable" | null> {
    const read = await this.read(accountId);
    if (read && isFinal(read) && read.step.do === "settle") await settleEnded(read, this.#record, this.env);
    const task = this.#ownedBy(accountId);
    if (!task) return null;
    if (!isFinal(task)) return "open";
    if (task.step.do === "settle") return "unavailable";
    this.ctx.storage.kv.delete("receipt"); // it has the caller's own name for the task
    this.#record.commit(afterEnd.deleted(task, Date.now()));
    await this.alarm();
    return "removed";
  }

  /** The task as its owner may know it. */
  #ownedBy(accountId: string): Task | undefined {
    const { task } = this.#record;
    return task && task.submission.accountId === accountId && task.step.do !== "reserve" && !task.isDeleted ? task : undefined;
  }

  /** The work that waits for a consumer, leased to the caller; null for a duplicate or late message. */
  async claim(): Promise<Work | null> {
    // A message for a poll that is due was sent before a crash: finished work is not written. The poll is repeated.
    const { step } = this.#record.task ?? {};
    if (step?.do === "poll" && step.at <= Date.now()) await this.alarm();
    return leases.claimStep(this.#record, this.env);
  }

  /** Takes the outcome of a leased step. False if the lease is no longer valid: the consumer's files are not wanted. */
  report(lease: string, step: StepOutcome): Promise<boolean> {
    return leases.reportStep(lease, step, this.#poller(), (task) => this.#settle(task));
  }

  /** Applies a transition that may be final. */
  async #go(next: Task): Promise<void> {
    if (isFinal(next)) await this.#end(next);
    else this.#record.commit(next);
  }

  /** The provider has called the task's URL: it is polled, and nothing else of the call counts. */
  async calledBack(provider: string): Promise<void> {
    await calledBack(provider, this.#poller());
  }

  /** Its message reached the dead-letter queue: the waiting work will not be done, so the task fails and the money is returned. */
  async failDeadLetter(): Promise<void> {
    const task = this.#record.task;
    if (!task || isFinal(task) || (task.step.do !== "start" && task.step.do !== "collect")) return;
    alert("dispatch", { ...logFields(task), outcome: "dead_letter" });
    await this.#end(outcomes.failed(task, "provider_error", Date.now()));
  }

  /** The call of the receiver that waits for a consumer, leased to the caller; null for a duplicate or late message. */
  async claimCallback(): Promise<CallbackWork | null> {
    return leases.claimCallback(this.#record);
  }

  /** Takes the report of a leased call. A report without a valid lease changes nothing. */
  reportCallback(lease: string, report: callbacks.CallbackReport): Promise<void> {
    return leases.reportCallback(lease, report, this.#record, this.env);
  }

  /** Calls the receiver of a final task again, at its owner's request. null if the task does not exist, "open" if it is not final. */
  async repeatCallback(accountId: string): Promise<Task | "open" | null> {
    const task = this.#ownedBy(accountId);
    if (!task) return null;
    if (!isFinal(task)) return "open";
    const begun = this.#record.commit(callbacks.callbackBegun(task, Date.now()));
    await sendCallback(begun, this.#record, this.env);
    return begun;
  }

  /**
   * The receipt of a final task as a JWS; null when there is no such task, "open" when it is not final. It is kept when it is first made, for
   * a later key would sign it otherwise.
   */
  async receipt(accountId: string): Promise<string | null> {
    const task = await this.read(accountId);
    if (!task) return null;
    if (!isFinal(task)) return "open";
    const { kv } = this.ctx.storage;
    const made = kv.get<string>("receipt") ?? (await signReceipt(toReceipt(task), this.env));
    if (!this.#ownedBy(accountId)) return null; // deleted or ended in the meantime
    const kept = kv.get<string>("receipt");
    if (kept === undefined) kv.put("receipt", made);
    return kept ?? made;
  }

  /**
   * Tells the account's wallet, which may have lost its storage, what the task holds or was charged, after doing what is overdue. "settled"
   * if the task has ended, "gone" if there is no record of it.
   */
  async tellWallet(accountId: string): Promise<"settled" | "open" | "gone"> {
    if (this.#record.task && transitions.wakeAt(this.#record.task) < Date.now()) await this.alarm();
    const { task } = this.#record;
    if (task?.submission.accountId !== accountId) return "gone";
    if (task.step.do === "reserve") return "open";
    await tellWallet(task, this.env);
    return isFinal(task) ? "settled" : "open";
  }

  /** One alarm runs one due step. It never throws, because a throw would be repeated six times and then dropped. */
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

  /** Makes the task final and settles it; when the ledger does not answer the alarm goes on. */
  async #end(final: FinalTask): Promise<Task> {
    const task = this.#record.commit(final);
    // The time of a task that went to another route says nothing of its first one.
    if (task.status === "completed" && task.attempts.length === 0) noteDuration(this.env.DB, this.ctx, task);
    await this.#settle(task);
    return this.#record.task ?? task;
  }

  #settle(task: FinalTask): Promise<void> {
    this.#settling ??= settleEnded(task, this.#record, this.env).finally(() => (this.#settling = undefined));
    return this.#settling;
  }
}

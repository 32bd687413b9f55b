/** The task object: owns one task's record, its transitions and its timers. Queue consumers do the slow work. */

import { logFields } from "../log-fields.ts";
import { DurableObject } from "cloudflare:workers";
import { lifeTimes, signingSecret } from "../../config.ts";
import { limitWait } from "../../base/limit-wait.ts";
import { newId, toTaskId } from "../../base/ids.ts";
import type { Operation } from "../../providers/provider.ts";
import { inJurisdiction } from "../../jurisdiction.ts";
import { withRotatedSecrets } from "../../base/rotated-secrets.ts";
import { alert } from "../../base/log.ts";
import * as callbacks from "../transitions/receiver-calls.ts";
import { type CreateAnswer, createTask } from "./creating.ts";
import { endDelivery } from "./delivering.ts";
import { apply, eraseLine, settleOnce, toLineReport } from "./ending.ts";
import { sendCallback } from "./messages.ts";
import { toReceipt } from "../answers/receipt.ts";
import { signReceipt } from "../../signing/receipts.ts";
import { type Answer, answerStatusQuery, type Question } from "../answers/status.ts";
import { pollCalledBack } from "./polls.ts";
import { RecordStore } from "./record-store.ts";
import * as steps from "./steps.ts";
import { isChargedWhenCancelled } from "./upstream.ts";
import { reportToWallet } from "./wallet-calls.ts";
import * as afterEnd from "../transitions/after-end.ts";
import { deliveryRepeated } from "../transitions/delivery.ts";
import * as outcomes from "../transitions/outcomes.ts";
import * as transitions from "../transitions/task.ts";
import { isFinal, type Submission, type Task, type CallbackReport } from "../record.ts";
import type { LineReport } from "../batch-line.ts";
import type { StepOutcome, Work, CallbackWork } from "../work.ts";

export class TaskObject extends DurableObject<Env> {
  readonly #record: RecordStore;
  #creating: Promise<CreateAnswer> | undefined;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, inJurisdiction(withRotatedSecrets(env)));
    this.#record = new RecordStore(ctx.storage, lifeTimes(env));
  }

  /** Accepts a submission (`createTask`), one call at a time. */
  create(submission: Submission): Promise<CreateAnswer> {
    this.#creating ??= createTask(toTaskId(this.ctx.id), submission, this.#record, this.env).finally(() => (this.#creating = undefined));
    return this.#creating;
  }

  /** Whether a submission whose creation was not answered has left a record, which needs its files. */
  async exists(): Promise<boolean> {
    await this.#creating?.catch(() => undefined); // its own caller gets the error
    return this.#record.task !== undefined;
  }

  /** The record, for its owner only. Writes nothing and makes no other call. */
  async read(accountId: string): Promise<Task | null> {
    // Waits for the first settlement: a caller that sees "completed" may read the balance next.
    if (this.#record.settling) await limitWait(2_000, this.#record.settling, undefined);
    const task = this.#ownedBy(accountId);
    if (!task) return null;
    if (transitions.wakeAt(task) >= Date.now() - 5_000) return task;
    await this.#record.rearm(task);
    return this.#ownedBy(accountId) ?? null;
  }

  /** The answer to its owner's status query; null if the account has no such task, or if it is of another kind. */
  async status(question: Question): Promise<Answer | null> {
    const task = await this.read(question.accountId);
    return task && this.#answer(question, task);
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
    return steps.isLeased(lease, this.#record);
  }

  /**
   * Cancels the task at its owner's request. null if the task does not exist, "final" if it had ended already. `isRepeat`: an earlier call, whose
   * answer was lost, may have cancelled it.
   */
  async cancel(question: Question, isRepeat = false): Promise<Answer | "final" | null> {
    const stopped = new Map<Operation, number | null>();
    for (;;) {
      const task = this.#ownedBy(question.accountId);
      if (!task) return null;
      if (isFinal(task)) return isRepeat && task.error === "cancelled" ? this.#answer(question, task) : "final";
      const isCharged = await isChargedWhenCancelled(task, this.env, stopped);
      // Otherwise the work went on while the provider was asked: its new state decides.
      if (this.#record.task === task)
        return this.#answer(question, await apply(outcomes.cancelled(task, isCharged, Date.now(), stopped), this.#record, this.env));
    }
  }

  /**
   * Deletes a final task's files and record for its owner; its rows in the ledger stay. null if the task does not exist, "open" if it has
   * not ended, "unavailable" if its settlement fails, or the end of its delivery cannot be announced. Files that cannot be deleted at once are
   * deleted by the alarm. `isRepeat`: an earlier call, whose answer was lost, may have deleted it.
   */
  async remove(accountId: string, isRepeat = false): Promise<"removed" | "open" | "unavailable" | null> {
    const { task: known } = this.#record;
    if (isRepeat && known?.isDeleted && known.submission.accountId === accountId) return "removed";
    const read = await this.read(accountId);
    if (read && isFinal(read) && read.step.do === "settle") await settleOnce(read, this.#record, this.env);
    if (this.#ownedBy(accountId)) await endDelivery(this.#record, this.env);
    const task = this.#ownedBy(accountId);
    if (!task) return null;
    if (!isFinal(task)) return "open";
    if (task.step.do === "settle" || task.delivery?.step) return "unavailable";
    // Before the task: after a crash its owner, who has no answer, deletes it again.
    if (!(await eraseLine(task, this.env)) || this.#record.task !== task) return "unavailable";
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

  /** How the task ended, for its batch; "open" if it has not, null if there is no such task. Waits for no settlement, which may wait for the batch. */
  async lineReport(accountId: string): Promise<LineReport | "open" | null> {
    await this.#creating?.catch(() => undefined); // its own caller gets the error
    const task = this.#ownedBy(accountId);
    if (!task) return null;
    return isFinal(task) ? toLineReport(task, this.env) : "open";
  }

  /** Leases the waiting work to the consumer; null for a duplicate or late message. With the same `nonce` it may be repeated. */
  async claim(nonce = newId("")): Promise<Work | null> {
    // After a crash the record is still at `poll` although the message of its finished work was sent, because that state is not written.
    // The poll is repeated.
    const { step } = this.#record.task ?? {};
    if (step?.do === "poll" && step.at <= Date.now()) await this.alarm();
    return steps.claimStep(this.#record, this.env, nonce);
  }

  /** Applies the outcome of a leased step. False if the lease is no longer valid: the consumer then deletes its files. */
  report(lease: string, step: StepOutcome): Promise<boolean> {
    return steps.reportStep(lease, step, this.#record, this.env);
  }

  /** The provider has called the task's URL, with any content: polls it. With `canCollect` finished work is leased to the caller; otherwise null. */
  async calledBack(provider: string, canCollect = false): Promise<Work | null> {
    return (await pollCalledBack(provider, canCollect, this.#record, this.env)) ? steps.claimStep(this.#record, this.env) : null;
  }

  /**
   * The task's message is in the dead-letter queue. A start that no consumer could claim fails, and its price is released. What an upstream may
   * have made is not lost: the alarm sends the message of a collection again, and runs a start itself. A start whose message is not sent yet, as
   * while it waits for a busy maker, goes on too.
   */
  async failDeadLetter(): Promise<void> {
    const task = this.#record.task;
    if (!task || isFinal(task) || (task.step.do !== "start" && task.step.do !== "collect")) return;
    const isUnmade = task.step.do === "start" && task.step.sent > 0 && !task.isUnknown && !task.earlier;
    alert("dispatch", { ...logFields(task), outcome: "dead_letter" });
    if (isUnmade) await apply(outcomes.failed(task, "provider_error", Date.now()), this.#record, this.env);
    else await this.#record.rearm(task);
  }

  /** Leases the waiting call of the receiver to the consumer; null for a duplicate or late message. `mayBeDelivery`: the consumer can call about a delivery. */
  async claimCallback(mayBeDelivery = false): Promise<CallbackWork | null> {
    return steps.claimCallback(this.#record, mayBeDelivery);
  }

  /** Applies the report of a leased call. Ignored without a valid lease. */
  reportCallback(lease: string, report: CallbackReport): Promise<void> {
    return steps.reportCallback(lease, report, this.#record, this.env);
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
   * Delivers the files of a completed task at once, at its owner's request. null if the task does not exist; a code if it is not final, if
   * nothing is to be delivered, or if its files are deleted or about to be.
   */
  async repeatDelivery(question: Question): Promise<Answer | "task_not_final" | "delivery_not_found" | "asset_expired" | null> {
    const task = this.#ownedBy(question.accountId);
    if (!task) return null;
    if (!isFinal(task)) return "task_not_final";
    if (task.status !== "completed" || !task.submission.deliverTo) return "delivery_not_found";
    const repeated = deliveryRepeated(task, Date.now());
    if (!repeated) return "asset_expired";
    return this.#answer(question, repeated === task ? task : this.#record.commit(repeated));
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
      await steps.runDue(task, this.#record, this.env);
      if (this.#record.task) await this.#record.rearm(this.#record.task);
    } catch (error) {
      alert("alarm", { ...logFields(task), outcome: "fault" }, error);
      await this.#record.retryLater(task);
    }
  }
}

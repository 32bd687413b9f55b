/** The task object: alone owns one task's record, its transitions and its timers. It decides; the consumer does. */

import { DurableObject } from "cloudflare:workers";
import { assetPrefix, removeUnder } from "../assets.ts";
import { chargesCancelled, hedging, lifeTimes, signingSecret } from "../config.ts";
import { newId, toTaskId } from "../ids.ts";
import { alert, log } from "../log.ts";
import { withTimeout } from "../providers/shared/http.ts";
import { answersWhenDone, isOn, markUnhealthy, providerNamed } from "../providers/index.ts";
import { ProviderError } from "../providers/provider.ts";
import { signReceipt } from "../receipt-keys.ts";
import * as callbacks from "./callback.ts";
import { perform } from "./dispatch.ts";
import { toReceipt } from "./receipt.ts";
import * as hedge from "./hedge.ts";
import { callReceiver, type CallbackWork } from "./notify.ts";
import { commonHeaders } from "./view-headers.ts";
import { type Answer, answerTo, type Question, sentBy } from "./views.ts";
import { cancelLate, cancelUpstream, logFields, removeInputs, reservePrice, returnPrice, settleTask } from "./settle.ts";
import * as transitions from "./task.ts";
import { currentRoute, isFinal, type Submission, type Task } from "./record.ts";
import { due, wakeAt } from "./task.ts";
import { noteDuration } from "./typical-times.ts";
import { collectTimeoutMs, longestStartMs, type StepOutcome, type Work } from "./work.ts";

export type CreateAnswer = { task: Task; created: boolean } | { refused: "insufficient" | "too_many" | "token" | "unavailable" };

/** How long a poll may take before the object stops waiting for it. */
const pollTimeoutMs = 10_000;
const defaultPollMs: Record<Submission["kind"], number> = { image: 2_000, character: 3_000, video: 5_000, remix: 5_000 };
const leaseGraceMs = 10_000;

export class TaskObject extends DurableObject<Env> {
  #task: Task | undefined;
  /** When the platform will wake us; undefined when we do not know. */
  #alarmAt: number | undefined;
  #creating: Promise<CreateAnswer> | undefined;
  #settling: Promise<void> | undefined;
  /** Lets the alarm go on that waits for a start of the object's own. */
  #release: (() => void) | undefined;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#task = ctx.storage.kv.get<Task>("task");
  }

  /**
   * Accepts a submission: the record first, then the money, then the message. A repeat answers with what is there;
   * `created` says whether that is this request's own, told twice, or another's.
   */
  async create(submission: Submission): Promise<CreateAnswer> {
    if (this.#creating) return this.#creating;
    // Given up: the caller was told that there is no task, so a repeat must not make one while the ledger is asked to give back.
    if (this.#task?.step.do === "reserve" && this.#task.faults > 0) return { refused: "unavailable" };
    if (this.#task && this.#task.step.do !== "reserve")
      return { task: this.#task, created: this.#task.submission.requestId === submission.requestId };
    this.#creating = this.#create(submission).finally(() => (this.#creating = undefined));
    return this.#creating;
  }

  async #create(submission: Submission): Promise<CreateAnswer> {
    const task = this.#commit(this.#task ?? transitions.newTask(toTaskId(this.ctx.id), submission, Date.now()));
    try {
      const answer = await reservePrice(task, this.env);
      if (this.#task !== task) return { refused: "unavailable" }; // its alarm gave it up meanwhile
      if (answer !== "reserved") {
        await this.#forget(task);
        return { refused: answer === "closed" ? "unavailable" : answer };
      }
    } catch (error) {
      alert("reserve", { ...logFields(task), outcome: "unavailable" }, error);
      // The ledger may have it or not. The caller is told that there is no task, so there must be none.
      if (this.#task === task) await this.#abandon(task);
      return { refused: "unavailable" };
    }
    const accepted = this.#commit(transitions.reserved(task, Date.now()));
    await this.#send(accepted);
    return { task: accepted, created: true };
  }

  /** The record, for its owner only. No write, no call. */
  async read(accountId: string): Promise<Task | null> {
    // While the books are being closed for the first time, wait: who sees "completed" may look at the balance next.
    if (this.#settling) await Promise.race([this.#settling, scheduler.wait(2_000)]);
    const task = this.#task;
    if (!task || task.submission.accountId !== accountId || task.step.do === "reserve") return null;
    if (transitions.wakeAt(task) < Date.now() - 5_000) await this.#rearm(task);
    return task;
  }

  /**
   * The answer to its owner's status query, for `http://task/{request id}/{limit or -}/{view}/{language}/{account}/{base}`. As a
   * response, which the Worker passes on unread: cheaper than a value that crosses, is read and is written again.
   */
  override async fetch(request: Request): Promise<Response> {
    const [requestId = "", limit = "", view, language, accountId, ...base] = request.url.slice("http://task/".length).split("/");
    const question = { view, language, accountId, base: base.join("/") } as Question;
    const task = await this.read(question.accountId);
    const answer = task && (await this.#answer(question, task));
    return answer ? sentBy(answer, question.language, commonHeaders(requestId, limit)) : new Response(null, { status: 404 });
  }

  #answer(question: Question, task: Task): Promise<Answer | null> {
    return answerTo(question, task, { secret: () => signingSecret(this.env), recordMs: lifeTimes(this.env).recordMs, now: Date.now() });
  }

  /** Whether the step is still leased to this consumer: asked right before something is sent that costs money. */
  async holdsLease(lease: string): Promise<boolean> {
    return this.#task !== undefined && transitions.holdsLease(this.#task, lease);
  }

  /** Ends the task at its owner's request. null when there is none, "final" when it had ended already. */
  async cancel(question: Question): Promise<Answer | "final" | null> {
    const task = this.#task;
    if (!task || task.submission.accountId !== question.accountId || task.step.do === "reserve") return null;
    if (isFinal(task)) return "final";
    const rules = { chargesAccepted: chargesCancelled(this.env), canCancel: this.#canCancel(task) };
    return this.#answer(question, await this.#end(transitions.cancelled(task, rules, Date.now())));
  }

  /** What waits for a consumer, leased to the caller; null for a message that came twice or too late. */
  async claim(): Promise<Work | null> {
    const task = this.#task;
    if (!task) return null;
    const { kind } = task.submission;
    const provider = this.#provider(task);
    const isStart = task.step.do === "start" || task.step.do === "starting";
    // Where a start may not be repeated its lease lasts until what it made at once is stored, too: lapsed, it would be lost.
    const storeMs = isStart && provider.repeatable ? 0 : collectTimeoutMs[kind];
    const leaseMs = (isStart ? longestStartMs(task, provider, kind) : 0) + storeMs + leaseGraceMs;
    const claimed = transitions.claimed(task, newId(""), leaseMs, provider.repeatable, Date.now());
    if (!claimed || (claimed.step.do !== "starting" && claimed.step.do !== "collecting")) return null;
    this.#commit(claimed);
    return { step: claimed.step.do === "starting" ? "start" : "collect", lease: claimed.step.lease, task: claimed };
  }

  /** Takes the outcome of a leased step. False when the lease is no longer valid: what the consumer stored is unwanted. */
  async report(lease: string, step: StepOutcome): Promise<boolean> {
    const task = this.#task;
    if (task?.endedBy === lease) return true; // told before, and the answer was lost
    if (!task || !transitions.holdsLease(task, lease)) {
      // Ended, or gone to another route, while the start was under way: no consumer will fetch it. Repeated with the report, if need be.
      if (step.outcome === "accepted" && task && hedge.isUnwanted(task, step.operation))
        await cancelLate({ ...task, route: step.route ?? task.route }, step.operation, this.env);
      return false;
    }
    const now = Date.now();
    switch (step.outcome) {
      case "accepted":
        this.#commit(transitions.accepted(task, step.operation, step.pollAfterMs, this.#provider(task).reportsProgress, now));
        return true;
      case "completed":
        await this.#end(transitions.completed(task, step.result, lifeTimes(this.env).assetMs, now));
        return true;
      case "failed":
        await this.#go(transitions.providerFailed(task, step.code, hedging(this.env), now));
        return true;
      case "lost":
        await this.#go(transitions.lost(task, now));
        return true;
      case "fault":
        await this.#go(transitions.startFailed(task, step, now));
        return true;
    }
  }

  /** To a state that may be the last one. */
  async #go(next: Task): Promise<void> {
    if (isFinal(next)) await this.#end(next);
    else this.#commit(next);
  }

  /** Its message went to the dead letters: nobody can do the work that waits, so the task ends and the money returns. */
  async failDeadLetter(): Promise<void> {
    const task = this.#task;
    if (!task || isFinal(task) || (task.step.do !== "start" && task.step.do !== "collect")) return;
    alert("dispatch", { ...logFields(task), outcome: "dead_letter" });
    await this.#end(transitions.failed(task, "provider_error", Date.now()));
  }

  /** The call of the receiver that waits for a consumer, leased to the caller; null for a message that came twice or too late. */
  async claimCallback(): Promise<CallbackWork | null> {
    const lease = newId("");
    const claimed = this.#task && callbacks.callbackClaimed(this.#task, lease, Date.now());
    return claimed ? { lease, task: this.#commit(claimed) } : null;
  }

  /** Takes the report of a leased call. One whose lease is no longer valid changes nothing. */
  async reportCallback(lease: string, report: callbacks.CallbackReport): Promise<void> {
    const reported = this.#task && callbacks.callbackReported(this.#task, lease, report, Date.now());
    if (reported) this.#commit(reported);
  }

  /** Calls the receiver of a final task once more, at its owner's request. null when there is no such task, "open" when it is not final. */
  async repeatCallback(accountId: string): Promise<Task | "open" | null> {
    const task = this.#task;
    if (!task || task.submission.accountId !== accountId || task.step.do === "reserve") return null;
    if (!isFinal(task)) return "open";
    const begun = this.#commit(callbacks.callbackBegun(task, Date.now()));
    await this.#sendCallback(begun);
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
    if (!this.#task) return null; // its record ended meanwhile
    const kept = kv.get<string>("receipt");
    if (kept === undefined) kv.put("receipt", made);
    return kept ?? made;
  }

  /** One alarm, one question: what is due? A throw would be repeated six times and then dropped, so there is none. */
  override async alarm(): Promise<void> {
    this.#alarmAt = undefined;
    const task = this.#task;
    if (!task) return;
    try {
      await this.#perform(task);
      if (this.#task) await this.#rearm(this.#task);
    } catch (error) {
      alert("alarm", { ...logFields(task), outcome: "fault" }, error);
      await this.ctx.storage.setAlarm(Date.now() + 5_000);
    }
  }

  async #perform(task: Task): Promise<void> {
    const now = Date.now();
    switch (due(task, now)) {
      case undefined:
        return;
      case "abandon":
        return this.#abandon(task);
      case "dispatch":
        return this.#send(this.#commit(transitions.dispatched(task, now)));
      case "undertake":
        return this.#undertake(task);
      case "lapse": {
        const next = transitions.leaseExpired(task, now);
        alert("dispatch", { ...logFields(task), outcome: "lease_lapsed" });
        return this.#go(next);
      }
      case "poll":
        return this.#poll(task);
      case "poll_earlier":
        return this.#pollEarlier(task);
      case "deadline":
        log("task", { ...logFields(task), outcome: "deadline_exceeded" });
        await this.#end(transitions.failed(task, "deadline_exceeded", now));
        return;
      case "settle":
        return this.#settle(task);
      case "notify":
        return this.#sendCallback(this.#commit(callbacks.callbackSent(task, now)));
      case "call_back":
        return this.#callBack();
      case "call_lapsed":
        this.#commit(callbacks.callLapsed(task, now));
        return;
      case "erase":
        await removeUnder(this.env.ASSETS, assetPrefix(task.id));
        if (this.#task === task) this.#commit(transitions.erased(task, lifeTimes(this.env).recordMs));
        return;
      case "forget":
        return this.#forget(task);
    }
  }

  /**
   * Does the start that waited too long for a consumer, under a lease as a consumer has it: a message that comes meanwhile finds nothing
   * to do. No other alarm fires while this one runs, so it waits for the start only until something else is due or the task has ended.
   */
  async #undertake(task: Task): Promise<void> {
    const work = await this.claim();
    if (!work) return;
    log("dispatch", { ...logFields(task), outcome: "undertaken" });
    const released = new Promise<void>((resolve) => (this.#release = resolve));
    const timeout = new AbortController();
    const started = perform(work, this.env, this);
    const waited = scheduler.wait(Math.max(0, wakeAt(work.task) - Date.now()), { signal: timeout.signal });
    waited.catch(() => undefined); // aborted: the start was quicker
    try {
      await Promise.race([started, released, waited]);
    } finally {
      this.#release = undefined;
      timeout.abort();
      started.catch((error: unknown) => alert("dispatch", { ...logFields(task), outcome: "fault" }, error));
    }
  }

  /** Asks the provider once. No verdict is no end: it is asked again until the deadline. */
  async #poll(task: Task): Promise<void> {
    const started = Date.now();
    const line = (outcome: string) => log("poll", { ...logFields(task), outcome, ms: Date.now() - started });
    try {
      const answer = await withTimeout(this.#provider(task).poll(task.operation!), pollTimeoutMs);
      if (this.#task !== task) return; // cancelled while we asked
      const now = Date.now();
      line(answer.status);
      if (answer.status === "pending") {
        const next = transitions.progressed(task, answer.progress, answer.pollAfterMs ?? defaultPollMs[task.submission.kind], now);
        if (!(await this.#hedge(next, now))) this.#commit(next);
      } else if (answer.status === "failed") await this.#go(transitions.providerFailed(task, answer.code, hedging(this.env), now));
      else await this.#send(this.#commit(transitions.ready(task, now)));
    } catch (error) {
      line("fault");
      if (!(error instanceof ProviderError) || !error.retryable) alert("poll", { ...logFields(task), outcome: "fault" }, error);
      if (error instanceof ProviderError && error.account) markUnhealthy(currentRoute(task));
      if (this.#task !== task) return;
      const now = Date.now();
      const next = transitions.pollFailed(task, error instanceof ProviderError ? error.retryAfterMs : undefined, now);
      if (!(await this.#hedge(next, now))) this.#commit(next);
    }
  }

  /** Begins the next route beside a silent or slow one. False when the route goes on alone. */
  async #hedge(task: Task, now: number): Promise<boolean> {
    const reason = hedge.reasonToHedge(task, hedging(this.env), now);
    if (!reason) return false;
    alert("poll", { ...logFields(task), outcome: reason });
    await this.#send(this.#commit(transitions.dispatched(transitions.hedged(task, reason, now), now)));
    return true;
  }

  /** Asks about work whose route gave way. After the end it is cancelled; what is made all the same is noted for the operator, not charged. */
  async #pollEarlier(task: Task): Promise<void> {
    const one = hedge.nextEarlier(task)!;
    const route = { ...task, route: one.route, operation: one.operation };
    const note = (outcome: string) => alert("hedge", { ...logFields(route), outcome, cost: task.submission.price });
    if (isFinal(task) && (await cancelUpstream(route, this.env))) {
      if (this.#task === task) this.#commit(hedge.earlierDropped(task, one));
      return;
    }
    try {
      const answer = await withTimeout(this.#provider(route).poll(one.operation), pollTimeoutMs);
      if (this.#task !== task) return; // asked again by the next alarm
      const now = Date.now();
      if (answer.status === "succeeded" && hedge.wantsEarlier(task))
        return await this.#send(this.#commit(transitions.earlierReady(task, one, now)));
      if (answer.status === "failed" || isFinal(task)) {
        if (answer.status === "succeeded") note("late_success");
        if (answer.status !== "pending") return void this.#commit(hedge.earlierDropped(task, one));
      }
      this.#commit(hedge.earlierPending(task, one, 0, now, answer.status === "pending" ? answer.pollAfterMs : undefined));
    } catch (error) {
      alert("poll", { ...logFields(route), outcome: "fault" }, error);
      if (this.#task !== task) return;
      this.#commit(hedge.earlierPending(task, one, one.faults + 1, Date.now()));
    }
  }

  /** Makes the task final and closes its books; when D1 does not answer the alarm goes on. */
  async #end(final: Task): Promise<Task> {
    const task = this.#commit(final);
    if (task.status === "completed") noteDuration(this.env.DB, this.ctx, task);
    this.#settling = this.#settle(task).finally(() => (this.#settling = undefined));
    await this.#settling;
    return this.#task ?? task;
  }

  /** Until the world knows of its end: whatever does not answer is asked again. */
  async #settle(task: Task): Promise<void> {
    const started = Date.now();
    const { charged = 0, error } = task;
    try {
      const isNotified = await settleTask(task, this.env);
      log("settle", { ...logFields(task), outcome: error ?? "completed", charged, ms: Date.now() - started });
      if (this.#task !== task) return;
      const { assetMs, recordMs } = lifeTimes(this.env);
      const settled = transitions.settled(task, assetMs, recordMs);
      // Its owner may have asked for it already.
      const begins = isNotified && !settled.callback;
      const next = this.#commit(begins ? callbacks.callbackBegun(settled, Date.now()) : settled);
      if (begins) await this.#sendCallback(next);
    } catch (fault) {
      alert("settle", { ...logFields(task), outcome: "retry" }, fault);
      if (this.#task === task) this.#commit(transitions.settleFailed(task, Date.now()));
    }
  }

  /** Nobody was told of this task: give back what the ledger may hold, then leave nothing. */
  async #abandon(given: Task): Promise<void> {
    // A new value, so that a reservation that still answers finds its task given up.
    const task = this.#commit(transitions.abandoned(given, Date.now()));
    try {
      await returnPrice(task, this.env);
    } catch (error) {
      alert("settle", { ...logFields(task), outcome: "retry" }, error);
      return;
    }
    if (this.#task === task) await this.#forget(task);
  }

  async #forget(task: Task): Promise<void> {
    await removeInputs(task, this.env);
    this.#task = undefined;
    this.#alarmAt = undefined;
    await this.ctx.storage.deleteAll();
  }

  /** Tells a queue that work waits. When it does not take the message, the alarm goes on soon. */
  async #send(task: Task): Promise<void> {
    const isSlow = task.step.do === "start" && answersWhenDone(this.env, currentRoute(task), task.submission.kind);
    try {
      await (isSlow ? this.env.STARTS : this.env.DISPATCH).send({ taskId: task.id });
    } catch (error) {
      alert("dispatch", { ...logFields(task), outcome: "not_sent" }, error);
      if (this.#task === task) this.#commit(transitions.notSent(task, Date.now()));
    }
  }

  /** Sends the message that lets a consumer call the receiver. When the queue does not take it, the alarm makes the call. */
  async #sendCallback(task: Task): Promise<void> {
    try {
      await this.env.NOTIFY.send({ taskId: task.id });
    } catch (error) {
      alert("callback", { ...logFields(task), outcome: "not_sent" }, error);
      if (this.#task === task) this.#commit(callbacks.callbackNotSent(task, Date.now()));
    }
  }

  /** Makes the call that no consumer has taken. Each receiver is waited for in its own object, so none delays another's. */
  async #callBack(): Promise<void> {
    const work = await this.claimCallback();
    if (work) await this.reportCallback(work.lease, await callReceiver(work.task, this.env));
  }

  /** Writes the record, and the alarm when the one that is set would come too late: one transaction. */
  #commit(task: Task): Task {
    this.ctx.storage.transactionSync(() => {
      this.ctx.storage.kv.put("task", task);
      const at = Math.max(wakeAt(task), Date.now() + 1);
      if (this.#alarmAt === undefined || this.#alarmAt > at || this.#alarmAt <= Date.now()) {
        void this.ctx.storage.setAlarm(at);
        this.#alarmAt = at;
      }
    });
    this.#task = task;
    if (isFinal(task)) this.#release?.();
    return task;
  }

  /** Makes sure that an alarm is set: after one has fired, or when a reader finds the record overdue. */
  async #rearm(task: Task): Promise<void> {
    if ((await this.ctx.storage.getAlarm()) === null && this.#task === task) {
      const at = Math.max(wakeAt(task), Date.now() + 1);
      await this.ctx.storage.setAlarm(at);
      this.#alarmAt = at;
    }
  }

  /** A provider that was switched off cannot be asked to cancel. */
  #canCancel(task: Task): boolean {
    const { provider } = currentRoute(task);
    return isOn(this.env, provider) && providerNamed(this.env, provider).cancel !== undefined;
  }

  #provider(task: Task) {
    return providerNamed(this.env, currentRoute(task).provider);
  }
}

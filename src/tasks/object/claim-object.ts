/** The object of an account's idempotency key: stores for a day which task the key created, and lets one submission run at a time. */

import { DurableObject } from "cloudflare:workers";
import { toObjectId } from "../../base/ids.ts";
import { inJurisdiction } from "../../jurisdiction.ts";
import type { Submission } from "../record.ts";
import type { CreateAnswer } from "./creating.ts";
import { claimMs } from "../transitions/task.ts";

interface Claim {
  taskId: string;
  fingerprint: string;
  /** Milliseconds since the epoch; the alarm that deletes the claim may be late. */
  until: number;
}

export type ClaimAnswer = CreateAnswer;

export class ClaimObject extends DurableObject<Env> {
  #queue: Promise<unknown> = Promise.resolve();

  /** The task of this key, if it was used; `conflict` if it was used for another request. */
  async find(fingerprint: string): Promise<{ taskId: string } | "conflict" | null> {
    const claim = this.#claim();
    return claim ? (claim.fingerprint === fingerprint ? { taskId: claim.taskId } : "conflict") : null;
  }

  /**
   * Creates the task, or returns the one that this key created before. `fingerprint` identifies the endpoint and body. The claim is written
   * before the task, so that a repeat after a crash finds the same id. A refused submission leaves no claim.
   */
  submit(taskId: string, fingerprint: string, submission: Submission): Promise<ClaimAnswer> {
    const turn = this.#queue.then(() => this.#submit(taskId, fingerprint, submission));
    this.#queue = turn.catch(() => undefined); // the caller gets this error; the next submission in the queue runs regardless
    return turn;
  }

  async #submit(taskId: string, fingerprint: string, submission: Submission): Promise<ClaimAnswer> {
    const claim = this.#take(taskId, fingerprint);
    if (!claim) return { refused: "conflict" };
    const { TASKS } = inJurisdiction(this.env);
    const id = toObjectId(TASKS, claim.taskId)!;
    const answer = await TASKS.get(id).create(submission);
    // A key stays used after its task was deleted: a late repeat must not create and charge another task.
    if ("refused" in answer && answer.refused !== "conflict") await this.ctx.storage.deleteAll();
    return answer;
  }

  /** Claims the key for a batch, whose own object finds repeats; false if it was used for another request. */
  async takeForBatch(id: string, fingerprint: string): Promise<boolean> {
    await this.#queue; // a submission that is refused leaves no claim
    return this.#take(id, fingerprint) !== undefined;
  }

  /** The claim of this request, which may be an earlier one; undefined if the key was used for another request. */
  #take(taskId: string, fingerprint: string): Claim | undefined {
    const earlier = this.#claim();
    if (earlier) return earlier.fingerprint === fingerprint ? earlier : undefined;
    const claim = { taskId, fingerprint, until: Date.now() + claimMs };
    this.ctx.storage.transactionSync(() => {
      this.ctx.storage.kv.put<Claim>("claim", claim);
      void this.ctx.storage.setAlarm(claim.until);
    });
    return claim;
  }

  /** Whether a submission whose outcome is unknown may have left a record, which needs its files. */
  async exists(fingerprint: string): Promise<boolean> {
    await this.#queue; // it may still be running
    const claim = this.#claim();
    if (claim?.fingerprint !== fingerprint) return false;
    const { TASKS } = inJurisdiction(this.env);
    return TASKS.get(toObjectId(TASKS, claim.taskId)!).exists();
  }

  #claim(): Claim | undefined {
    const claim = this.ctx.storage.kv.get<Claim>("claim");
    return claim && claim.until > Date.now() ? claim : undefined;
  }

  override async alarm(): Promise<void> {
    await this.ctx.storage.deleteAll();
  }
}

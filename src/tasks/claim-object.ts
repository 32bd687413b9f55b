/** An idempotency key of an account: remembers for a day which task it stands for, and lets one submission in at a time. */

import { DurableObject } from "cloudflare:workers";
import { toObjectId } from "../ids.ts";
import type { Submission } from "./record.ts";
import type { CreateAnswer } from "./creating.ts";

interface Claim {
  taskId: string;
  fingerprint: string;
  /** Milliseconds since the epoch; the alarm that removes the claim may come late. */
  until: number;
}

const claimMs = 86_400_000;

export type ClaimAnswer = CreateAnswer | { refused: "conflict" };

export class ClaimObject extends DurableObject<Env> {
  #queue: Promise<unknown> = Promise.resolve();

  /** The task this key stands for, if it was used; `conflict` when it was for another request. */
  async find(fingerprint: string): Promise<{ taskId: string } | "conflict" | null> {
    const claim = this.#claim();
    return claim ? (claim.fingerprint === fingerprint ? { taskId: claim.taskId } : "conflict") : null;
  }

  /**
   * Creates the task, or answers with the one this key created before. `fingerprint` stands for the endpoint and body.
   * The claim is written before the task, so a repeat after a crash finds the same id; a refused submission leaves none.
   */
  submit(taskId: string, fingerprint: string, submission: Submission): Promise<ClaimAnswer> {
    const turn = this.#queue.then(() => this.#submit(taskId, fingerprint, submission));
    this.#queue = turn.catch(() => undefined); // its caller hears of the fault; the next in the queue has its own turn
    return turn;
  }

  async #submit(taskId: string, fingerprint: string, submission: Submission): Promise<ClaimAnswer> {
    const earlier = this.#claim();
    if (earlier && earlier.fingerprint !== fingerprint) return { refused: "conflict" };
    if (!earlier) {
      this.ctx.storage.transactionSync(() => {
        const until = Date.now() + claimMs;
        this.ctx.storage.kv.put<Claim>("claim", { taskId, fingerprint, until });
        void this.ctx.storage.setAlarm(until);
      });
    }
    const id = toObjectId(this.env.TASKS, earlier?.taskId ?? taskId)!;
    const answer = await this.env.TASKS.get(id).create(submission);
    if ("refused" in answer) await this.ctx.storage.deleteAll();
    return answer;
  }

  #claim(): Claim | undefined {
    const claim = this.ctx.storage.kv.get<Claim>("claim");
    return claim && claim.until > Date.now() ? claim : undefined;
  }

  override async alarm(): Promise<void> {
    await this.ctx.storage.deleteAll();
  }
}

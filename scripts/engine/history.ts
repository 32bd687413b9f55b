/** What the callers of a run know: their submissions, the state of each, and all faults found. */

import type { Status } from "../support/api-answers.ts";

/** A submitter: one account with one key. */
export interface Account {
  name: string;
  id: string;
  keyId: string;
  apiKey: string;
  /** True if its quota may run out: then 402 is a valid answer. */
  isTight: boolean;
}

type StatusWord = Status["status"];

export type Kind = "image" | "video" | "character" | "remix";

/** A submission. Its marker is in the task's record, so that a task whose answer was lost can be found. */
export interface Order {
  account: Account;
  kind: Kind;
  marker: string;
  path: string;
  body: { model: string; [field: string]: unknown };
  idempotencyKey: string | undefined;
  /** `lost`: sent once without a key and never answered, so that a task may or may not exist. */
  state: "asked" | "accepted" | "refused" | "lost";
  id?: string;
}

/** The last state of a task that a client saw. */
export interface Sight {
  progress: number;
  status: StatusWord;
}

/** An accepted task. */
export interface KnownTask {
  id: string;
  order: Order;
  acceptedAt: number;
  sight: Sight;
  /** True if a client sent a cancellation, answered or not. */
  isCancelAsked?: boolean;
  final?: { status: StatusWord; at: number; error: string | undefined };
}

const ranks: Record<StatusWord, number> = { queued: 0, submitted: 0, in_progress: 1, completed: 2, failed: 2 };

/** What is wrong with a state that is seen after another one: a task never goes back, and only completed ones are at 100. */
export function sightFaults(before: Sight, { status, progress }: Sight): string[] {
  const hasEnded = ranks[before.status] === 2;
  const isBack = ranks[status] < ranks[before.status] || progress < before.progress || (hasEnded && status !== before.status);
  const back = isBack ? [`went from ${before.status} ${before.progress} back to ${status} ${progress}`] : [];
  return (progress === 100) === (status === "completed") ? back : [...back, `is ${status} at ${progress}`];
}

/** The shared history of all clients. */
export class History {
  readonly orders: Order[] = [];
  readonly tasks = new Map<string, KnownTask>();
  readonly faults: string[] = [];
  readonly counts = new Map<string, number>();

  /** Records a fault. */
  fault(text: string): void {
    this.faults.push(`${new Date().toISOString()} ${text}`);
  }

  /** Increments this counter. */
  count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }

  /** An order was answered with this task id. All answers to one order must have the same id. */
  accept(order: Order, id: string, at: number): void {
    if (order.id !== undefined && order.id !== id) this.fault(`${order.marker} is two tasks: ${order.id} and ${id}`);
    const other = this.tasks.get(id);
    if (other && other.order !== order) this.fault(`${id} stands for two submissions: ${other.order.marker} and ${order.marker}`);
    order.state = "accepted";
    order.id ??= id;
    if (!other) this.tasks.set(id, { id, order, acceptedAt: at, sight: { progress: 0, status: "queued" } });
  }

  /** The account's accepted tasks that no client has seen final. */
  open(account?: Account): KnownTask[] {
    return [...this.tasks.values()].filter((task) => !task.final && (!account || task.order.account === account));
  }

  /** The account's completed tasks. */
  completed(account: Account): KnownTask[] {
    return [...this.tasks.values()].filter((task) => task.final?.status === "completed" && task.order.account === account);
  }

  /**
   * Records an answer about a task. `before` is the record when the request was sent: answers may overtake each other, but an answer may
   * not be older than one that had arrived before its request was sent.
   */
  saw(task: KnownTask, before: Sight, now: Sight & { error?: string | undefined }): void {
    const { status, progress } = now;
    for (const fault of sightFaults(before, now)) this.fault(`${task.id} ${fault}`);
    const ahead = ranks[status] - ranks[task.sight.status];
    if (ahead > 0 || (ahead === 0 && progress > task.sight.progress)) task.sight = { progress, status };
    if (ranks[status] < 2) return;
    task.final ??= { status, at: Date.now(), error: undefined };
    // Some queries do not include the reason.
    task.final.error ??= now.error;
  }
}

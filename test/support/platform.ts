/**
 * What the deployed platform does and the local one does not: six connections an invocation that wait for headers, consumers that are added only when a
 * batch has ended. Time is stepped: whoever waits for it looks at the clock again and again, in a context of its own.
 */

import { createExecutionContext, createMessageBatch, getQueueResult, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { AsyncLocalStorage } from "node:async_hooks";
import { expect, vi } from "vitest";
import { TaskObject } from "../../src/tasks/task-object.ts";
import worker from "../../src/worker.ts";
import config from "../../wrangler.toml?raw";
import { bindings, stubOf } from "./faults.ts";

const connections = 6;
const mostConsumers = 250;

/** One run of a handler: how much of it goes on at once, and how much of that waits for stepped time. */
interface Invocation {
  parts: number;
  waiting: number;
  connected: number;
}

interface Queue {
  name: string;
  batchSize: number;
  most: number;
  consumers: number;
  busy: number;
  messages: string[];
}

/** A setting of a consumer in wrangler.toml. */
function setting(queue: string, name: string): number | undefined {
  const consumer = config.split("[[").find((part) => part.startsWith("queues.consumers") && part.includes(`queue = "${queue}"`));
  const value = new RegExp(`^${name} = (\\d+)`, "m").exec(consumer ?? "")?.[1];
  return value === undefined ? undefined : Number(value);
}

const queueNamed = (name: string): Queue => ({
  name,
  batchSize: setting(name, "max_batch_size") ?? 10,
  most: setting(name, "max_concurrency") ?? mostConsumers,
  consumers: 1,
  busy: 0,
  messages: [],
});

/** A request to an upstream: when it is answered after it was sent (milliseconds), and with what. undefined: it is not this upstream's. */
export type SlowUpstream = (url: string) => { ms: number; answer: () => Response } | undefined;

export class Platform {
  readonly #queues = { DISPATCH: queueNamed("gateway-dispatch"), STARTS: queueNamed("gateway-starts") };
  readonly #running = new Set<Invocation>();
  readonly #current = new AsyncLocalStorage<Invocation>();
  readonly #tasks = new Map<string, { isInAlarm: boolean }>();
  readonly #timers = new Set<object>();
  #isOver = false;
  /** Requests that ended before their answer came, although the upstream worked on them. */
  abandoned = 0;
  /** The most requests of one invocation that were under way or in line. */
  mostAtOnce = 0;

  constructor(upstream: SlowUpstream) {
    const { fetch } = globalThis;
    vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
      const slow = upstream(input as string);
      const invocation = this.#current.getStore();
      return slow && invocation ? this.#ask(slow, invocation, init?.signal) : fetch(input, init);
    });
    // Time limits of starts go by stepped time too, whichever way they are set.
    const { setTimeout } = globalThis;
    vi.spyOn(globalThis, "setTimeout").mockImplementation(((run: () => void, ms = 0) => {
      if (ms < 1_000) return setTimeout(run, ms);
      const timer = {};
      this.#timers.add(timer);
      void this.#until(Date.now() + ms, () => !this.#timers.has(timer)).then(() => this.#timers.delete(timer) && run());
      return timer;
    }) as never);
    const { clearTimeout } = globalThis;
    vi.spyOn(globalThis, "clearTimeout").mockImplementation(((timer: object) => {
      if (!this.#timers.delete(timer)) clearTimeout(timer as never);
    }) as never);
    vi.spyOn(AbortSignal, "timeout").mockImplementation((ms) => {
      const controller = new AbortController();
      void this.#until(Date.now() + ms).then(() => controller.abort(new DOMException("timeout", "TimeoutError")));
      return controller.signal;
    });
    const queues = this.#queues;
    vi.spyOn(bindings.queue(), "send").mockImplementation(function (this: unknown, message) {
      const queue = this === env.STARTS ? queues.STARTS : queues.DISPATCH;
      queue.messages.push((message as { taskId: string }).taskId);
      return Promise.resolve();
    });
    // oxlint-disable-next-line typescript/unbound-method -- called with its object below
    const original = TaskObject.prototype.alarm;
    const invoke = <T>(work: () => Promise<T>) => this.#invoke(1, work);
    vi.spyOn(TaskObject.prototype, "alarm").mockImplementation(function (this: TaskObject) {
      return invoke(() => original.call(this));
    });
  }
  /** Watches this task's alarm. */
  add(taskId: string): void {
    this.#tasks.set(taskId, { isInAlarm: false });
  }

  /** Lets everything happen that is due, and moves the time on. */
  async step(seconds: number): Promise<void> {
    await this.#work();
    vi.setSystemTime(Date.now() + seconds * 1_000);
    await this.#work();
  }

  /** Lets go of what still waits. */
  end(): void {
    this.#isOver = true;
  }

  async #invoke<T>(parts: number, work: () => Promise<T>): Promise<T> {
    const invocation = { parts, waiting: 0, connected: 0 };
    this.#running.add(invocation);
    try {
      return await this.#current.run(invocation, work);
    } finally {
      this.#running.delete(invocation);
    }
  }

  async #until(time: number, isEnded = () => false): Promise<void> {
    while (Date.now() < time && !isEnded()) {
      if (this.#isOver) return new Promise(() => undefined);
      await scheduler.wait(1);
    }
  }

  /** One of six connections, from the request's sending to the answer's headers. */
  async #ask(slow: { ms: number; answer: () => Response }, invocation: Invocation, signal?: AbortSignal | null): Promise<Response> {
    this.mostAtOnce = Math.max(this.mostAtOnce, ++invocation.waiting);
    let isSent = false;
    try {
      await this.#until(Infinity, () => invocation.connected < connections || signal?.aborted === true);
      signal?.throwIfAborted();
      isSent = true;
      invocation.connected++;
      await this.#until(Date.now() + slow.ms, () => signal?.aborted === true);
      if (signal?.aborted) this.abandoned++;
      signal?.throwIfAborted();
      return slow.answer();
    } finally {
      if (isSent) invocation.connected--;
      invocation.waiting--;
    }
  }

  /** Consumers and alarms, until all that runs waits for an upstream. */
  async #work(): Promise<void> {
    for (let quiet = 0; quiet < 3; quiet++) {
      if (this.#consume() || (await this.#wake())) quiet = 0;
      do await scheduler.wait(1);
      while ([...this.#running].some(({ parts, waiting }) => waiting < parts));
    }
  }

  #consume(): boolean {
    let isBegun = false;
    for (const queue of Object.values(this.#queues))
      while (queue.busy < queue.consumers && queue.messages.length > 0) {
        const messages = queue.messages.splice(0, queue.batchSize);
        queue.busy++;
        isBegun = true;
        void this.#invoke(messages.length, () => deliver(queue.name, messages)).then(() => {
          queue.busy--;
          queue.consumers = Math.min(queue.most, queue.consumers + 1);
        });
      }
    return isBegun;
  }

  async #wake(): Promise<boolean> {
    let isBegun = false;
    for (const [id, task] of this.#tasks) {
      if (task.isInAlarm) continue;
      const alarm = await runInDurableObject(stubOf(id), (_, ctx) => ctx.storage.getAlarm());
      if (alarm === null || alarm > Date.now()) continue;
      isBegun = task.isInAlarm = true;
      void runDurableObjectAlarm(stubOf(id)).finally(() => (task.isInAlarm = false));
    }
    return isBegun;
  }
}

async function deliver(queue: string, taskIds: string[]): Promise<void> {
  const messages = taskIds.map((taskId) => ({ id: crypto.randomUUID(), timestamp: new Date(), attempts: 1, body: { taskId } }));
  const batch = createMessageBatch(queue, messages);
  const ctx = createExecutionContext();
  await worker.queue(batch, env);
  expect((await getQueueResult(batch, ctx)).retryMessages).toEqual([]);
}

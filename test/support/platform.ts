/**
 * Behaviour of the deployed platform that the local one lacks: six connections per invocation that wait for headers, and consumers that are added
 * only when a batch has ended. Time is stepped: waiting code polls the clock in its own context.
 */

import { createExecutionContext, createMessageBatch, getQueueResult, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { AsyncLocalStorage } from "node:async_hooks";
import { expect, vi } from "vitest";
import { TaskObject } from "../../src/tasks/object/task-object.ts";
import worker from "../../src/worker.ts";
import config from "../../wrangler.toml?raw";
import { bindings, openStub } from "./faults.ts";

const connections = 6;
const maxConsumers = 250;

/** One run of a handler: its parallel parts, and how many of them wait for stepped time. */
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
  most: setting(name, "max_concurrency") ?? maxConsumers,
  consumers: 1,
  busy: 0,
  messages: [],
});

/** A request to an upstream: its answer, and after how many milliseconds it arrives. undefined for a URL of another upstream. */
export type SlowUpstream = (url: string) => { ms: number; answer: () => Response } | undefined;

export class Platform {
  readonly #queues = { DISPATCH: queueNamed("gateway-dispatch"), STARTS: queueNamed("gateway-starts") };
  readonly #running = new Set<Invocation>();
  readonly #current = new AsyncLocalStorage<Invocation>();
  readonly #tasks = new Map<string, { isInAlarm: boolean }>();
  readonly #timers = new Set<object>();
  #isOver = false;
  /** Requests that were aborted before their answer, although the upstream was working on them. */
  abandoned = 0;
  /** The largest number of requests of one invocation that were running or waiting. */
  maxAtOnce = 0;

  constructor(upstream: SlowUpstream) {
    const { fetch } = globalThis;
    vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
      const slow = upstream(input as string);
      const invocation = this.#current.getStore();
      return slow && invocation ? this.#ask(slow, invocation, init?.signal) : fetch(input, init);
    });
    // Start timeouts use stepped time too, whether they are timers or signals.
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
  /** Runs this task's alarm from now on. */
  add(taskId: string): void {
    this.#tasks.set(taskId, { isInAlarm: false });
  }

  /** Runs everything that is due, and advances the time. */
  async step(seconds: number): Promise<void> {
    await this.#work();
    vi.setSystemTime(Date.now() + seconds * 1_000);
    await this.#work();
  }

  /** Releases everything that still waits. */
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

  /** Holds one of six connections from sending the request to the answer's headers. */
  async #ask(slow: { ms: number; answer: () => Response }, invocation: Invocation, signal?: AbortSignal | null): Promise<Response> {
    this.maxAtOnce = Math.max(this.maxAtOnce, ++invocation.waiting);
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

  /** Runs consumers and alarms until everything that runs waits for an upstream. */
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
      const alarm = await runInDurableObject(openStub(id), (_, ctx) => ctx.storage.getAlarm());
      if (alarm === null || alarm > Date.now()) continue;
      isBegun = task.isInAlarm = true;
      void runDurableObjectAlarm(openStub(id)).finally(() => (task.isInAlarm = false));
    }
    return isBegun;
  }
}

async function deliver(queue: string, taskIds: string[]): Promise<void> {
  const messages = taskIds.map((taskId) => ({ id: crypto.randomUUID(), timestamp: new Date(), attempts: 1, body: { taskId } }));
  const batch = createMessageBatch(queue, messages);
  const ctx = createExecutionContext();
  await worker.queue(batch, env, ctx);
  expect((await getQueueResult(batch, ctx)).retryMessages).toEqual([]);
}

/** The state of a run: callers, accepted tasks, messages in transit, the time. */

import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, vi } from "vitest";
import worker from "../../src/worker.ts";
import type { Sight } from "../../scripts/engine/history.ts";
import { type Account, type Answer, asAdmin, call, deliver, newAccount } from "../support/gateway.ts";
import type { KnownBatch } from "./batches.ts";
import { deleteModels } from "../support/models.ts";
import { hurry, type DispatchMessage, watchBindings } from "./bindings.ts";
import type { KnownFile } from "./files.ts";
import { isScripted, type Known, Objects, openStub } from "./objects.ts";
import { Outside } from "./outside.ts";
import { watchProvider } from "./provider.ts";
import type { KnownToken } from "./tokens.ts";
import { Random } from "../../scripts/support/random.ts";
import { type Scope, FaultInjector } from "./fault-injector.ts";

/** A submission that was answered with 200. */
export interface AcceptedTask {
  account: Account;
  id: string;
  kind: "image" | "video" | "character" | "remix";
  /** The last status that a query returned. */
  seen?: Sight;
  /** What its first answer says is held, in balance units. */
  reserved?: number;
  /** The signed receipt. */
  receipt?: string;
}

/** A submission that can be repeated with its key. */
export interface Keyed {
  account: Account;
  path: string;
  body: object;
  key: string;
  kind: AcceptedTask["kind"];
  at: number;
  /** The task with which it was answered. */
  id?: string;
  /** The operation that is sending it. */
  sender?: Scope | undefined;
}

/** Money from outside: see `payments.ts`. */
export interface Bank {
  /** Does one of its operations, chosen at random. */
  act(): Promise<string>;
  /** No more faults: everything that was begun ends. */
  settle(): Promise<void>;
  /** What must hold then. */
  check(): Promise<void>;
}

export class World {
  readonly random: Random;
  readonly faultInjector: FaultInjector;
  readonly objects = new Objects();
  readonly accounts: Account[] = [];
  readonly accepted = new Map<string, AcceptedTask>();
  readonly keyed: Keyed[] = [];
  readonly batches: KnownBatch[] = [];
  readonly tokens: KnownToken[] = [];
  readonly files: KnownFile[] = [];
  /** Tasks whose owner has begun to delete them, and when they were deleted, in milliseconds; Infinity before that. */
  readonly deletions = new Map<string, number>();
  /** The second key of each account, which begins its batches and may be paused. */
  readonly batchKeys = new Map<string, Pick<Account, "key" | "keyId">>();
  /** What accounts and keys may spend in a day, in millionths, by their ids. */
  readonly budgets = new Map<string, number>();
  /** The ids of events that were read, in their order. */
  readonly events = new Map<Account, string[]>();
  readonly mail: DispatchMessage[] = [];
  /** Every message so far: the queue may deliver one again. */
  readonly delivered: DispatchMessage[] = [];
  /** Tasks whose inputs were stored by a Worker that crashed, or could not remove them. */
  readonly orphanedInputs = new Set<string>();
  /** Characters with a started deletion. */
  readonly deleting = new Set<string>();
  /** Characters whose row a restored database lacks: their image is left. */
  readonly lostCharacters = new Set<string>();
  /** Of the operator's entry of a model. */
  priceRevision = 0;
  /** True once the database was restored: rows that led to stored files may be lost. */
  isRestored = false;
  readonly trace: string[] = [];
  bank!: Bank;
  outside!: Outside;

  constructor(seed: number) {
    this.random = new Random(seed);
    this.faultInjector = new FaultInjector(seed, (line) => this.trace.push(line));
  }

  async begin(openBank: (world: World) => Promise<Bank>): Promise<void> {
    // The same part of an hour in every repetition, and far from the real time, so that no real alarm runs in between.
    vi.setSystemTime((Math.ceil(Date.now() / 3_600_000) + 1) * 3_600_000);
    await deleteModels();
    const quotas = [null, null, 30, 2];
    for (let count = this.random.int(1, 3); count > 0; count--)
      this.accounts.push(await newAccount(this.random.pick(quotas), this.random.pick(quotas)));
    for (const { id, keyId } of this.accounts) {
      const { body } = await asAdmin(`/accounts/${id}/keys`, { body: { name: "batches", quota: this.random.pick([null, 1]) } });
      this.batchKeys.set(id, { keyId: body.id as string, key: body.key as string });
      if (!this.random.chance(0.3)) continue;
      const budget = { amount: this.random.pick([0.2, 2]), window: "day" };
      const set = this.random.pick([`/keys/${keyId}`, `/accounts/${id}`]);
      expect((await asAdmin(set, { method: "PATCH", body: { budget } })).status).toBe(200);
      this.budgets.set(set.split("/").at(-1)!, 1e6 * budget.amount);
    }
    this.bank = await openBank(this);
    this.outside = await Outside.open(this);
    this.objects.watch(this.faultInjector);
    watchBindings(this.faultInjector, this.mail);
    watchProvider(this.faultInjector);
    hurry();
    this.#watchRequests();
  }

  /** Work that continues after the answer: resolves when it has ended. */
  #watchRequests(): void {
    const { fetch } = worker;
    vi.spyOn(worker, "fetch").mockImplementation((request, env, ctx) => {
      const { scope } = this.faultInjector;
      const waitUntil = ctx.waitUntil.bind(ctx);
      ctx.waitUntil = (work) => {
        scope.requests++;
        waitUntil(work.finally(() => scope.requests--));
      };
      return fetch(request, env, ctx);
    });
  }

  call(
    account: Account,
    path: string,
    options: { method?: string; body?: unknown; headers?: Record<string, string> } = {},
  ): Promise<Answer> {
    return call(path, { key: account.key, ...options });
  }

  /** The objects whose alarm is due within the time, the earliest first. */
  async waiting(withinMs: number): Promise<{ known: Known; alarm: number }[]> {
    const waiting: { known: Known; alarm: number }[] = [];
    for (const known of this.objects.all.values()) {
      const { alarm } = await this.objects.stored(known);
      if (alarm !== null && alarm < Date.now() + withinMs) waiting.push({ known, alarm });
    }
    return waiting.sort((a, b) => a.alarm - b.alarm);
  }

  /** Delivers one message; the queue keeps it if it is not acknowledged, and gives it up after three attempts. */
  async deliver(message: DispatchMessage): Promise<string> {
    const result = await deliver(message.taskId, message.isDead ? "gateway-dead" : message.queue, {}, message.body);
    const at = this.mail.indexOf(message);
    if (at >= 0) this.mail.splice(at, 1);
    this.delivered.push(message);
    const attempts = message.attempts + 1;
    if (result === "retry") this.mail.push({ ...message, attempts, isDead: message.isDead || attempts > 3 });
    return result;
  }

  /** Runs the object's alarm if it is due. */
  async alarm(known: Known): Promise<boolean> {
    const { alarm } = await this.objects.stored(known);
    if (alarm === null || alarm > Date.now() || known.isInAlarm) return false;
    await this.#wake(known, () => runDurableObjectAlarm(openStub(known)));
    return true;
  }

  /** An alarm runs at least once: this is the second time. */
  async repeatAlarm(known: Known): Promise<void> {
    await this.#wake(known, () => runInDurableObject(openStub(known), (instance) => instance.alarm!()));
  }

  /** An alarm handler that does not finish is run again after two seconds, like on the platform. */
  async #wake(known: Known, handler: () => Promise<unknown>): Promise<void> {
    known.isInAlarm = true;
    try {
      await handler();
    } catch (error) {
      // A handler that waits for a paused operation ends with it when that one resets the object, and then no other faults are injected.
      if (!this.faultInjector.isOn && !isScripted(error)) throw error;
      known.stored = undefined;
      const rearm = async () => {
        const { isEmpty, alarm } = await this.objects.stored(known);
        // An object without storage is skipped; an alarm would create a table.
        if (!isEmpty && alarm === null) await runInDurableObject(openStub(known), (_, { storage }) => storage.setAlarm(Date.now() + 2_000));
      };
      // A task that the wallet's handler asked calls the wallet, and may go on after the handler's end: its calls may reset the wallet too.
      for (let resets = 0; ; resets++)
        try {
          await rearm();
          break;
        } catch (again) {
          if (resets === 10 || !isScripted(again)) throw again;
        }
    } finally {
      known.isInAlarm = false;
      known.stored = undefined;
    }
  }

  /** Inputs of a Worker that crashed between storing them and creating their task are left to the bucket's lifecycle rule. */
  isForsaken(key: string): boolean {
    return this.orphanedInputs.has(key.split("/")[1]!);
  }

  /** After a restored database: remembers the characters that it lacks. */
  async noteLostCharacters(): Promise<void> {
    const { results } = await env.DB.prepare("SELECT id FROM character").run<{ id: string }>();
    const ids = new Set(results.map(({ id }) => id));
    const { objects } = await env.ASSETS.list({ prefix: "characters/" });
    for (const { key } of objects) {
      const id = key.slice("characters/".length);
      if (!ids.has(id)) this.lostCharacters.add(id);
    }
  }

  async crash(known: Known): Promise<void> {
    await runInDurableObject(openStub(known), (_, ctx) => ctx.abort("scripted crash")).catch(() => undefined);
    known.callers.length = 0;
    known.stored = undefined;
  }

  /** Applies the late effects on D1. */
  async applyLateEffects(): Promise<void> {
    const { isOn } = this.faultInjector;
    this.faultInjector.isOn = false;
    // A write that a repetition has overtaken may fail.
    for (const effect of this.faultInjector.late.splice(0)) await effect().catch(() => undefined);
    this.faultInjector.isOn = isOn;
  }
}

export const advance = (seconds: number) => vi.setSystemTime(Date.now() + seconds * 1000);

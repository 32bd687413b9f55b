/** All that a run knows: who calls, what was promised to whom, which messages are under way, what time it is. */

import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { vi } from "vitest";
import worker from "../../src/worker.ts";
import type { Account, Answer } from "../support/gateway.ts";
import { call, deliver, newAccount } from "../support/gateway.ts";
import { hurry, type Letter, watchBindings } from "./bindings.ts";
import { type Known, Objects, stubOf } from "./objects.ts";
import { watchProvider } from "./provider.ts";
import { Random } from "../../scripts/support/random.ts";
import { type Scope, Storm } from "./storm.ts";

/** A submission that was answered with 200. */
export interface Promised {
  account: Account;
  id: string;
  kind: "image" | "video" | "character" | "remix";
  /** What its last status query showed. */
  seen?: { status: string; progress: number };
}

/** A submission that can be repeated under its key. */
export interface Keyed {
  account: Account;
  path: string;
  body: object;
  key: string;
  kind: Promised["kind"];
  at: number;
  /** The task it was answered with. */
  id?: string;
  /** The operation that is sending it. */
  sender?: Scope | undefined;
}

export class World {
  readonly random: Random;
  readonly storm: Storm;
  readonly objects = new Objects();
  readonly accounts: Account[] = [];
  readonly promised = new Map<string, Promised>();
  readonly keyed: Keyed[] = [];
  readonly mail: Letter[] = [];
  /** Every message there ever was: the queue may bring one again. */
  readonly delivered: Letter[] = [];
  /** Tasks whose inputs were stored by a Worker that died. */
  readonly forsaken = new Set<string>();
  /** Characters that somebody wanted to delete. */
  readonly fading = new Set<string>();
  readonly trace: string[] = [];

  constructor(seed: number) {
    this.random = new Random(seed);
    this.storm = new Storm(seed, (line) => this.trace.push(line));
  }

  async begin(): Promise<void> {
    // The same part of an hour in every repetition, and far from the real time, so that no real alarm fires in between.
    vi.setSystemTime((Math.ceil(Date.now() / 3_600_000) + 1) * 3_600_000);
    const quotas = [null, null, 30, 2];
    for (let count = this.random.int(1, 2); count > 0; count--)
      this.accounts.push(await newAccount(this.random.pick(quotas), this.random.pick(quotas)));
    this.objects.watch(this.storm);
    watchBindings(this.storm, this.mail);
    watchProvider(this.storm);
    hurry();
    this.#watchRequests();
  }

  /** Some work goes on after the answer: this tells until when. */
  #watchRequests(): void {
    const { fetch } = worker;
    vi.spyOn(worker, "fetch").mockImplementation((request, env, ctx) => {
      const { scope } = this.storm;
      const waitUntil = ctx!.waitUntil.bind(ctx);
      ctx!.waitUntil = (work) => {
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

  /** The objects whose alarm comes within the time, the earliest first. */
  async waiting(withinMs: number): Promise<{ known: Known; alarm: number }[]> {
    const waiting: { known: Known; alarm: number }[] = [];
    for (const known of this.objects.all.values()) {
      const { alarm } = await this.objects.stored(known);
      if (alarm !== null && alarm < Date.now() + withinMs) waiting.push({ known, alarm });
    }
    return waiting.sort((a, b) => a.alarm - b.alarm);
  }

  /** Hands over one message; the queue keeps what was not acknowledged, and gives it up after three times. */
  async deliver(letter: Letter): Promise<string> {
    const result = await deliver(letter.taskId, letter.isDead ? "gateway-dead" : "gateway-dispatch");
    const at = this.mail.indexOf(letter);
    if (at >= 0) this.mail.splice(at, 1);
    this.delivered.push(letter);
    const attempts = letter.attempts + 1;
    if (result === "retry") this.mail.push({ ...letter, attempts, isDead: letter.isDead || attempts > 3 });
    return result;
  }

  /** Runs the object's alarm when it is due. */
  async alarm(known: Known): Promise<boolean> {
    const { alarm } = await this.objects.stored(known);
    if (alarm === null || alarm > Date.now() || known.isInAlarm) return false;
    await this.#wake(known, () => runDurableObjectAlarm(stubOf(known)));
    return true;
  }

  /** An alarm comes at least once: here is the second time. */
  async repeatAlarm(known: Known): Promise<void> {
    await this.#wake(known, () => runInDurableObject(stubOf(known), (instance) => instance.alarm!()));
  }

  /** A handler that does not come to its end is run again after two seconds, as the platform does it. */
  async #wake(known: Known, handler: () => Promise<unknown>): Promise<void> {
    known.isInAlarm = true;
    try {
      await handler();
    } catch (error) {
      if (!this.storm.isOn) throw error;
      known.stored = undefined;
      const { isEmpty, alarm } = await this.objects.stored(known);
      // Where nothing is stored there is nothing to do; an alarm would leave a table.
      if (!isEmpty && alarm === null) await runInDurableObject(stubOf(known), (_, { storage }) => storage.setAlarm(Date.now() + 2_000));
    } finally {
      known.isInAlarm = false;
      known.stored = undefined;
    }
  }

  /** Inputs of a Worker that died between storing them and creating their task are left to the bucket's own rule. */
  isForsaken(key: string): boolean {
    return this.forsaken.has(key.split("/")[1]!);
  }

  async crash(known: Known): Promise<void> {
    await runInDurableObject(stubOf(known), (_, ctx) => ctx.abort("scripted crash")).catch(() => undefined);
    known.callers.length = 0;
    known.stored = undefined;
  }

  /** Lets D1 do what it did not do in time. */
  async land(): Promise<void> {
    const { isOn } = this.storm;
    this.storm.isOn = false;
    for (const effect of this.storm.late.splice(0)) await effect();
    this.storm.isOn = isOn;
  }
}

export const advance = (seconds: number) => vi.setSystemTime(Date.now() + seconds * 1000);

/** The objects of a run in the order of their first call, and what each of them stores. */

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { vi } from "vitest";
import { BatchObject } from "../../src/api/batches/object.ts";
import type { Batch } from "../../src/api/batches/state.ts";
import { toObjectId, toTaskId } from "../../src/base/ids.ts";
import { ClaimObject } from "../../src/tasks/object/claim-object.ts";
import { TaskObject } from "../../src/tasks/object/task-object.ts";
import { TokenObject } from "../../src/tasks/object/token-object.ts";
import { WalletObject } from "../../src/wallet/object.ts";
import type { Task } from "../../src/tasks/record.ts";
import { owners, type Scope, type FaultInjector } from "./fault-injector.ts";

type Kind = "task" | "claim" | "wallet" | "batch" | "token";

/** The contents of an object's storage. */
interface Stored {
  isEmpty: boolean;
  /** Milliseconds since the epoch, or null if no alarm is set. */
  alarm: number | null;
  task: Task | undefined;
  batch: Batch | undefined;
}

export interface Known {
  kind: Kind;
  /** A name that is the same in every repetition of a run, unlike the ids. */
  label: string;
  id: DurableObjectId;
  taskId: string | undefined;
  /** The cached storage; valid until the next call of the object. */
  stored: Stored | undefined;
  /** The run's operations that are calling this object now. */
  callers: Scope[];
  /** True while its alarm handler runs: the platform starts no second one. */
  isInAlarm: boolean;
}

const classes = {
  task: [TaskObject.prototype, env.TASKS],
  claim: [ClaimObject.prototype, env.CLAIMS],
  wallet: [WalletObject.prototype, env.WALLETS],
  batch: [BatchObject.prototype, env.BATCHES],
  token: [TokenObject.prototype, env.TOKENS],
} as const;

interface Instance {
  ctx: DurableObjectState;
}
type Method = (this: Instance, ...values: unknown[]) => Promise<unknown>;

/** A new stub each time, because a stub belongs to the context that made it. */
export const openStub = ({ kind, id }: Known): DurableObjectStub => (classes[kind][1] as unknown as DurableObjectNamespace).get(id);

export class Objects {
  readonly all = new Map<string, Known>();

  /** Observes every call of an object, lets the fault injector fail it, and attributes calls that the object makes to it. */
  watch(faultInjector: FaultInjector): void {
    for (const [kind, [prototype]] of Object.entries(classes) as [Kind, (typeof classes)[Kind]][])
      for (const name of Object.getOwnPropertyNames(prototype))
        if (name !== "constructor") this.#watchMethod(faultInjector, kind, prototype as never, name);
  }

  #watchMethod(faultInjector: FaultInjector, kind: Kind, prototype: Record<string, Method>, name: string): void {
    const original = prototype[name]!;
    const met = (ctx: DurableObjectState) => this.#met(kind, ctx);
    vi.spyOn(prototype, name).mockImplementation(function (this: Instance, ...values: unknown[]) {
      const { ctx } = this;
      const known = met(ctx);
      const { label, callers } = known;
      const { scope } = faultInjector;
      callers.push(scope);
      const effect = () => original.apply(this, values);
      // The alarm of the platform, and a method that the object calls itself, have no connection that may be lost.
      const isCall = name !== "alarm" && owners.getStore()?.ctx !== ctx;
      return owners
        .run({ ctx, label, callers }, () =>
          faultInjector.through({ name, effect, failure: isCall ? "Network connection lost." : undefined, isObject: true }),
        )
        .finally(() => {
          callers.splice(callers.indexOf(scope), 1);
          known.stored = undefined;
        });
    });
  }

  #met(kind: Kind, ctx: DurableObjectState): Known {
    const hex = ctx.id.toString();
    let known = this.all.get(hex);
    if (!known) {
      // A wallet knows its account by its name.
      const id = ctx.id.name === undefined ? classes[kind][1].idFromString(hex) : classes[kind][1].idFromName(ctx.id.name);
      const label = `${kind} ${[...this.all.values()].filter((other) => other.kind === kind).length + 1}`;
      const taskId = kind === "task" ? toTaskId(id) : undefined;
      this.all.set(hex, (known = { kind, label, id, taskId, stored: undefined, callers: [], isInAlarm: false }));
    }
    known.stored = undefined;
    return known;
  }

  ofTask(taskId: string): Known | undefined {
    return this.all.get(toObjectId(env.TASKS, taskId)?.toString() ?? "");
  }

  /** The object's storage; read again only if it was called since the last time. */
  async stored(known: Known): Promise<Stored> {
    if (known.stored) return known.stored;
    // Work that the object continues after a call may reset it while its storage is read.
    const found = await untilNotReset(() =>
      runInDurableObject(openStub(known), async (_, { storage }) => ({
        isEmpty: storage.sql.exec("SELECT name FROM sqlite_master").toArray().length === 0,
        alarm: await storage.getAlarm(),
        task: known.kind === "task" ? storage.kv.get<Task>("task") : undefined,
        batch: known.kind === "batch" ? storage.kv.get<Batch>("batch") : undefined,
      })),
    );
    if (known.callers.length === 0) known.stored = found;
    return found;
  }
}

/** True for the error of an object that a run has reset or crashed. */
export const isScripted = (error: unknown) => error instanceof Error && /^scripted (?:reset|crash)$/.test(error.message);

const maxResets = 10;

async function untilNotReset<T>(read: () => Promise<T>): Promise<T> {
  for (let resets = 0; ; resets++)
    try {
      return await read();
    } catch (error) {
      if (resets === maxResets || !isScripted(error)) throw error;
    }
}

/** Passes every use of D1, R2 and the queue through the fault injector. Messages go to the run, which delivers them. */

import { env } from "cloudflare:workers";
import { vi } from "vitest";
import type { QueueMessage } from "../../src/tasks/consumer/queue.ts";
import type { TaskMessage } from "../../src/tasks/work.ts";
import { bindings } from "../support/faults.ts";
import { type FaultInjector, turn } from "./fault-injector.ts";

/** A message of a task, or the settlement of a chat. */
export interface DispatchMessage {
  taskId: string;
  /** Its name in wrangler.toml. */
  queue: string;
  body: QueueMessage;
  attempts: number;
  isDead: boolean;
}

type Method = (...values: unknown[]) => Promise<unknown>;
type Statement = D1PreparedStatement & { statement: string; params: unknown[] };

const isWrite = ({ statement }: Statement) => /^\s*(INSERT|UPDATE|DELETE|WITH)/.test(statement);

const toName = (queue: unknown) => (queue === env.NOTIFY ? "gateway-notify" : "gateway-dispatch");

/** The same statements, prepared outside of the object or Worker that created them. */
const again = (statements: Statement[]) => () =>
  env.DB.batch(statements.map(({ statement, params }) => env.DB.prepare(statement).bind(...params)));

export function watchBindings(faultInjector: FaultInjector, mail: DispatchMessage[]): void {
  for (const name of ["run", "first"])
    watch(bindings.statement(), name, faultInjector, (statement) => ({
      name: `D1 ${name}`,
      failure: faultInjector.random.pick([
        "D1_ERROR: Network connection lost.",
        "D1_ERROR: D1 DB is overloaded. Too many requests queued.",
      ]),
      ...(isWrite(statement as Statement) && { later: again([statement as Statement]) }),
    }));
  watch(bindings.database(), "batch", faultInjector, (_, [statements]) => ({
    name: "D1 batch",
    failure: "D1_ERROR: D1 DB storage operation exceeded timeout which caused object to be reset.",
    later: again(statements as Statement[]),
  }));
  for (const name of ["put", "get", "head", "delete", "list"])
    watch(bindings.bucket(), name, faultInjector, (_, [key]) => {
      if (name === "put" && String(key).startsWith("inputs/")) faultInjector.scope.inputs.push(String(key).split("/")[1]!);
      return { name: `R2 ${name}`, failure: `${name}: We encountered an internal error. (10001)` };
    });
  watch(
    bindings.queue(),
    "send",
    faultInjector,
    () => ({ name: "queue send", failure: "Queue send failed: Internal Error" }),
    async (queue, message) => {
      const copies = faultInjector.chance(0.05) ? 2 : 1;
      const body = message as QueueMessage;
      const taskId = "settlement" in body ? body.settlement.charge.taskId : (body as TaskMessage).taskId;
      for (let copy = 0; copy < copies; copy++) mail.push({ taskId, body, queue: toName(queue), attempts: 1, isDead: false });
    },
  );
}

/** Passes the calls of a method through the fault injector. */
export function watch(
  target: Record<string, Method>,
  method: string,
  faultInjector: FaultInjector,
  point: (self: unknown, values: unknown[]) => { name: string; failure: string; later?: () => Promise<unknown> },
  instead?: (self: unknown, ...values: unknown[]) => Promise<unknown>,
): void {
  const original = target[method]!;
  vi.spyOn(target, method).mockImplementation(function (this: unknown, ...values: unknown[]) {
    // Queries of the run itself, while everything is paused, are not part of the run.
    if (!faultInjector.isOn && !instead) return original.apply(this, values);
    const effect = () => (instead ? instead(this, ...values) : original.apply(this, values));
    return faultInjector.through({ ...point(this, values), effect });
  });
}

/**
 * A wait without a signal takes no real time. A wait with one, as in a timeout, only ends when it is aborted: hanging providers end
 * themselves, and the timeout of a crashed consumer must not fire in a later run.
 */
export function hurry(): void {
  const prototype = Object.getPrototypeOf(scheduler) as Scheduler;
  vi.spyOn(prototype, "wait").mockImplementation((_, options) => {
    const { signal } = options ?? {};
    if (!signal) return turn();
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
  });
}

/** One run: random operations with faults, then without faults until everything has ended, then the invariants. */

import { vi } from "vitest";
import { isFinal } from "../../src/tasks/record.ts";
import { checkEnd, checkFinal, checkMoving, clearBucket } from "./invariants.ts";
import { choose } from "./operations.ts";
import { takeBackup } from "./restore.ts";
import { Scope, scopes, turn } from "./fault-injector.ts";
import { advance, type Bank, World } from "./world.ts";

/** Runs a seed. Its error contains the seed and all operations. */
export async function run(seed: number, openBank: (world: World) => Promise<Bank>): Promise<void> {
  const world = new World(seed);
  for (const method of ["log", "error"] as const) vi.spyOn(console, method).mockReturnValue();
  try {
    await clearBucket();
    await world.begin(openBank);
    await injectFaults(world);
    await checkMoving(world);
    await world.bank.settle();
    await world.bank.check();
    await drain(world);
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    // No `cause`: the test runner cannot print an object's own error, and never ends.
    // oxlint-disable-next-line eslint/preserve-caught-error
    throw new Error(`seed ${seed}: ${text}\n\nFAULT_SEEDS=${seed} repeats it. What happened:\n${world.trace.join("\n")}\n`);
  } finally {
    world.faultInjector.end();
    vi.restoreAllMocks();
  }
}

async function injectFaults(world: World): Promise<void> {
  const total = world.random.int(30, 60);
  // In some runs the database is restored on the way.
  const [backupAt, restoreAt] = world.random.chance(0.3) ? [world.random.int(0, 20), world.random.int(21, total)] : [];
  let restore: (() => Promise<void>) | undefined;
  for (let count = 0; count < total; count++) {
    world.faultInjector.isOn = false;
    if (count === backupAt) restore = await takeBackup(world);
    if (count === restoreAt) await restore?.();
    world.faultInjector.isOn = true;
    await perform(world, false);
  }
  world.faultInjector.isOn = false;
  await world.applyLateEffects();
}

/**
 * How many times to check whether an operation has ended, which takes some seconds. After that it waits for something that never happens.
 */
const maxTurns = 5_000;
/** If an operation runs longer than this beside a paused one, it is assumed to wait for the paused one. */
const patientTurns = 500;

/** Runs one operation to its end, or to the crash of its Worker; while it is paused, other operations run. */
async function perform(world: World, isNested: boolean): Promise<void> {
  const { faultInjector, trace } = world;
  const { name, operation } = choose(world);
  const at = trace.push(`${isNested ? "      | " : ""}${name}`) - 1;
  const scope = (faultInjector.scope = new Scope());
  let end: { outcome: string } | { fault: unknown } | undefined;
  scopes
    .run(scope, () => operation(world))
    .then(
      (outcome) => (end = { outcome }),
      (fault: unknown) => (end = { fault }),
    );
  const isOver = () => (end !== undefined && scope.requests === 0) || scope.isDead;
  for (let turns = 0; !isOver(); turns++) {
    if (turns === maxTurns) throw new Error(`"${name}" does not end`);
    await turn();
    const { gate } = faultInjector;
    // A wallet makes its writes one after the other: if an operation waits for a paused one, the paused one continues. No faults are
    // injected while both run.
    if (isNested && gate && turns % patientTurns === patientTurns - 1) {
      faultInjector.isOn = false;
      gate.isOpen = true;
    }
    if (!gate || isNested) continue;
    for (let count = world.random.int(1, 4); count > 0; count--) await perform(world, true);
    faultInjector.scope = scope;
    // It may have been continued already, and be paused at a later point.
    if (faultInjector.gate === gate) faultInjector.gate = undefined;
    gate.isOpen = true;
  }
  if (isNested) faultInjector.isOn = true;
  if (scope.isDead || scope.wasOut) for (const taskId of scope.inputs) world.orphanedInputs.add(taskId);
  const outcome = scope.isDead || !end ? "died" : "outcome" in end ? end.outcome : "threw";
  trace[at] += `: ${outcome} (${scope.calls} calls)`;
  if (end && "fault" in end) throw end.fault;
}

/** No more faults and no more requests: everything that was started must end by itself. */
async function drain(world: World): Promise<void> {
  world.outside.settle();
  await untilQuiet(world, async () => {
    for (const known of world.objects.all.values()) {
      const { task, batch, isEmpty, alarm } = await world.objects.stored(known);
      if (known.kind === "claim" || known.kind === "token" || (known.kind === "wallet" && alarm === null)) continue;
      // A settlement that succeeded at once is not written: the alarm is set for the step after it.
      const hasEnded = (task && isFinal(task)) || batch?.endedAt !== undefined;
      if (task?.delivery?.step || batch?.deliverAgainFrom !== undefined) return false;
      if (!isEmpty && !(hasEnded && alarm !== null && alarm > Date.now() + 3_600_000)) return false;
    }
    return true;
  });
  await checkFinal(world);
  await untilQuiet(world, async () => false);
  await checkEnd(world);
}

const maxSteps = 1_000;

/** Delivers messages and runs one alarm after another in the order of their times, until the number of steps is reached or no alarm is left. */
async function untilQuiet(world: World, isEnough: () => Promise<boolean>): Promise<void> {
  for (let step = 0; step < maxSteps; step++) {
    for (const message of world.mail.splice(0)) await world.deliver(message);
    if (await isEnough()) return;
    const [first] = await world.waiting(Infinity);
    if (!first) return;
    advance(Math.max(0, first.alarm - Date.now()) / 1000);
    await world.alarm(first.known);
  }
  throw new Error(`after ${maxSteps} steps without faults something still moves`);
}

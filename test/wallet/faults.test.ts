/** Random reservations, settlements, repeats, crashes and faults of D1, in any order: at the end the wallet's invariants hold, and what callers see meanwhile counts each charge once. */

import "../support/alone.ts";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { Random } from "../../scripts/support/random.ts";
import { bindings } from "../support/faults.ts";
import { holdTime, newAccount } from "../support/gateway.ts";
import { crashWallet, expectFinal, expectSound, type Known, newCharge, wake, openWallet } from "./support.ts";

holdTime();

const steps = 60;
/** No task object knows these holds: without a deadline the wallet would release them after a crash. */
const far = () => ({ deadline: Date.now() + 1_000_000_000 });

type Statement = D1PreparedStatement & { statement: string; params: unknown[] };

/** A D1 with faults: batches and single statements that fail before or after they take effect, and some that take effect much later. */
function injectFaults(random: Random): { late: (() => Promise<unknown>)[]; end: () => void } {
  const late: (() => Promise<unknown>)[] = [];
  const { batch } = bindings.database();
  // The same statement, prepared outside of the object that created it.
  const again = ({ statement, params }: Statement) => env.DB.prepare(statement).bind(...params);
  const watch = (
    target: Record<string, (...values: unknown[]) => Promise<unknown>>,
    method: string,
    later: (self: Statement, values: unknown[]) => Statement[],
  ) => {
    const original = target[method]!;
    return vi.spyOn(target, method).mockImplementation(async function (this: unknown, ...values: unknown[]) {
      const statements = later(this as Statement, values);
      const fault = state.isOn && random.chance(0.2) ? random.pick(["before", "after", "late"]) : "none";
      if (fault === "late") late.push(() => batch!.call(env.DB, statements.map(again)));
      if (fault === "before" || fault === "late") throw new Error("D1_ERROR: Network connection lost.");
      const result = await original.apply(this, values);
      if (fault === "after") throw new Error("D1_ERROR: D1 DB storage operation exceeded timeout.");
      return result;
    });
  };
  const state = { isOn: true };
  watch(bindings.database(), "batch", (_, [statements]) => statements as Statement[]);
  watch(bindings.statement(), "run", (self) => [self]);
  return { late, end: () => (state.isOn = false) };
}

const seeds = Array.from({ length: 25 }, (_, at) => at + 1);

test.each(seeds)("seed %i", async (seed) => {
  const random = new Random(seed);
  const account = await newAccount(random.pick([null, 0.02, 1]), random.pick([null, 0.01]));
  const known = new Map<string, Known>();
  const given = new Set<string>();
  const { late, end } = injectFaults(random);
  const trace: string[] = [];
  const wallet = () => openWallet(account);
  const anyOpen = () => [...known.values()].filter(({ charged }) => charged === undefined);

  const actions: Record<string, () => Promise<unknown>> = {
    reserve: async () => {
      const charge = newCharge(account, random.pick(["image", "chat"]));
      const amount = random.int(1, 3_000);
      const { answer } = await wallet().reserve(charge, amount, far());
      if (answer === "reserved") known.set(charge.taskId, { charge, amount });
      return answer;
    },
    burst: async () => {
      const charges = Array.from({ length: 8 }, () => newCharge(account));
      const answers = await Promise.all(charges.map(async (charge) => wallet().reserve(charge, 700, far())));
      for (const [at, { answer }] of answers.entries())
        if (answer === "reserved") known.set(charges[at]!.taskId, { charge: charges[at]!, amount: 700 });
    },
    repeat: async () => {
      const open = anyOpen();
      if (open.length === 0) return;
      const { charge, amount } = random.pick(open);
      expect(await wallet().reserve(charge, amount, {})).toEqual({ answer: "reserved" });
    },
    together: async () => {
      const news = Array.from({ length: random.int(1, 4) }, () => ({ charge: newCharge(account, "chat"), held: random.int(1, 900) }));
      const ends = anyOpen().slice(0, 3);
      const charged = random.int(0, 900);
      const repeated = random.chance(0.3) ? news.slice(0, 1) : [];
      const answers = await wallet().chats([
        ...[...news, ...repeated].map((one) => ({ ...one, deadline: Date.now() + 1_000_000 })),
        ...[...ends, ...ends].map(({ charge, amount }) => ({ charge, held: amount, charged, outcome: "completed" })),
      ]);
      for (const [at, { charge, held }] of news.entries()) if (answers[at]) known.set(charge.taskId, { charge, amount: held });
      expect(answers.slice(news.length + repeated.length)).toEqual([...ends, ...ends].map(() => true));
      for (const task of ends) task.charged = Math.min(charged, task.amount);
      return answers;
    },
    settle: async () => {
      const open = anyOpen();
      if (open.length === 0) return;
      const task = random.pick(open);
      const charged = random.chance(0.3) ? 0 : random.int(0, task.amount + 100);
      await wallet().settle(task.charge, charged, charged === 0 ? "provider_error" : "completed");
      task.charged = Math.min(charged, task.amount);
    },
    settleAgain: async () => {
      const ended = [...known.values()].filter(({ charged }) => charged !== undefined);
      if (ended.length > 0) await wallet().settle(random.pick(ended).charge, 2_999, "completed");
    },
    overlap: async () => {
      const [task] = anyOpen();
      const charge = newCharge(account);
      const charged = random.int(1, 900);
      const before = [...known.values()].reduce((sum, one) => sum + (one.charged ?? 0), 0);
      // An unknown key makes the object read D1.
      const read = async () =>
        wallet()
          .balances([account.keyId, "no such key"])
          .catch(() => undefined);
      const [early, , , { answer }, late] = await Promise.all([
        read(),
        task && wallet().settle(task.charge, charged, "completed"),
        wallet()
          .writeEnded()
          .catch(() => undefined),
        wallet().reserve(charge, 500, far()),
        read(),
      ]);
      if (answer === "reserved") known.set(charge.taskId, { charge, amount: 500 });
      if (task) task.charged = Math.min(charged, task.amount);
      for (const view of [early, late])
        for (const id of view ? [account.id, account.keyId] : [])
          expect([before, before + (task?.charged ?? 0)], "each charge once").toContain(view![id]!.used);
    },
    giveUp: async () => {
      const charge = newCharge(account);
      await wallet().settle(charge, 10, "cancelled");
      given.add(charge.taskId);
      expect(await wallet().reserve(charge, 10, {})).toEqual({ answer: "closed" });
    },
    crash: () => crashWallet(account),
    wake: () => wake(account),
    pass: async () => void vi.setSystemTime(Date.now() + random.pick([1, 6, 12, 65, 150]) * 1000),
    raise: () => wallet().changeQuota(account.id, { add: random.int(1, 5_000) }),
    lower: () => wallet().changeQuota(account.id, { add: -random.int(1, 5_000) }),
    land: async () => late.shift()?.(),
  };
  const names = Object.keys(actions);
  try {
    for (let step = 0; step < steps; step++) {
      const name = random.pick([...names, "reserve", "reserve", "together", "settle", "settle", "overlap", "wake"]);
      // A fault of D1 may reach the caller of a quota change; no other call throws.
      const outcome = await actions[name]!().catch((error: unknown) => {
        if (!["raise", "lower"].includes(name) || !(error instanceof Error)) throw error;
        return error.message;
      });
      trace.push(`${name} ${JSON.stringify(outcome) ?? ""}`);
    }
    end();
    for (const effect of late.splice(0)) await effect();
    await expectSound(account, known.values());
    expect(await wallet().audit()).toMatchObject({ isGrantRight: true });
    for (const { charge } of anyOpen()) await wallet().settle(charge, 1, "completed");
    for (const task of anyOpen()) task.charged = Math.min(1, task.amount);
    for (let round = 0; round < 4; round++) {
      vi.setSystemTime(Date.now() + 160_000); // longer together than an account that has come back keeps its grant
      await wake(account);
    }
    await expectSound(account, known.values());
    await expectFinal(account, known.values());
    expect(await wallet().reserve(newCharge(account), 0, {})).toEqual({ answer: "reserved" });
  } catch (error) {
    throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}\n${trace.join("\n")}`, { cause: error });
  }
});

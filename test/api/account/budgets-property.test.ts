/** In no window the settled and held amounts exceed a key's or the account's budget, whatever runs in parallel and whenever the window ends. Contract 4. */

import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { expect, test, vi } from "vitest";
import type { Charge } from "../../../src/db/ledger.ts";
import { windowStart } from "../../../src/wallet/limits.ts";
import { WalletObject } from "../../../src/wallet/object.ts";
import {
  type Account,
  asAdmin,
  readBalance,
  call,
  chatsSettled,
  finish,
  holdTime,
  newAccount,
  script,
  unique,
  wakeWallet,
  shortenPauses,
} from "../../support/gateway.ts";
import { crashWallet, readEntries } from "../../wallet/support.ts";

holdTime();
shortenPauses();

const dayMs = 86_400_000;
const windows = ["day", "month"] as const;

/** The millionths that a key or account holds or was charged since a window began. */
interface Spent {
  at: number;
  keyId: string;
  amount: number;
}

const which = fc.constantFrom(0, 1);
const action = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant("image" as const), key: which, n: fc.integer({ min: 1, max: 4 }), fails: fc.boolean() }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("chat" as const), key: which, tokens: fc.constantFrom(100, 2_000, 9_000) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("cancel" as const), task: fc.nat(20) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("finish" as const), task: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("flush" as const) }) },
);
/** Actions that run in parallel, and what happens before the next ones. */
const round = fc.record({
  actions: fc.array(action, { minLength: 1, maxLength: 8 }),
  isCrash: fc.boolean(),
  pass: fc.constantFrom("nothing", "an hour", "until midnight", "over midnight"),
});
const scenario = fc.record({
  budgets: fc.tuple(
    ...Array.from({ length: 3 }, () =>
      fc.option(fc.record({ amount: fc.constantFrom(30_000, 95_000, 200_000), window: fc.constantFrom(...windows) })),
    ),
  ),
  rounds: fc.array(round, { minLength: 3, maxLength: 6 }),
});
type Scenario = typeof scenario extends fc.Arbitrary<infer T> ? T : never;

/** The methods, bound to their object. */
interface Methods {
  reserve: (this: WalletObject, ...values: Parameters<WalletObject["reserve"]>) => ReturnType<WalletObject["reserve"]>;
  settle: (this: WalletObject, ...values: Parameters<WalletObject["settle"]>) => Promise<void>;
  chats: (this: WalletObject, ...values: Parameters<WalletObject["chats"]>) => Promise<boolean[]>;
}

/** Checks at each hold, only from the wallet object's calls and answers, that no budget is exceeded. */
function watch(account: Account, keyIds: string[], budgets: Scenario["budgets"]) {
  const known = new Map<string, Spent>();
  /** Sums above their budget, in millionths. */
  const exceeded: number[] = [];
  const { reserve, settle, chats } = WalletObject.prototype as unknown as Methods;
  const noteHold = (object: WalletObject, charge: Charge, amount: number) => {
    if (charge.accountId !== account.id || known.has(charge.taskId)) return;
    const { at } = object.unwritten().find(({ taskId }) => taskId === charge.taskId) ?? { at: Date.now() };
    known.set(charge.taskId, { at, keyId: charge.keyId, amount });
    for (const [index, budget] of budgets.entries()) {
      if (!budget) continue;
      const from = windowStart(budget.window, at);
      const own = [...known.values()].filter((one) => one.at >= from && (index === 0 || one.keyId === keyIds[index - 1]));
      const sum = own.reduce((total, one) => total + one.amount, 0);
      if (sum > budget.amount) exceeded.push(sum);
    }
  };
  // Recorded before the object is called: a hold that uses the released amount can only come after it.
  const noteEnd = (charge: Charge, charged: number) => {
    const own = known.get(charge.taskId);
    if (own && charge.accountId === account.id) own.amount = Math.min(own.amount, charged);
  };
  vi.spyOn(WalletObject.prototype, "reserve").mockImplementation(async function (this: WalletObject, charge, amount, rules) {
    const answer = await reserve.call(this, charge, amount, rules);
    if (answer.answer === "reserved") noteHold(this, charge, amount);
    return answer;
  });
  vi.spyOn(WalletObject.prototype, "settle").mockImplementation(async function (this: WalletObject, charge, charged, outcome, held) {
    noteEnd(charge, charged);
    return settle.call(this, charge, charged, outcome, held);
  });
  vi.spyOn(WalletObject.prototype, "chats").mockImplementation(async function (this: WalletObject, calls) {
    for (const call of calls) if ("outcome" in call) noteEnd(call.charge, call.charged);
    const answers = await chats.call(this, calls);
    for (const [at, { charge, held, ...one }] of calls.entries()) if (answers[at] && !("outcome" in one)) noteHold(this, charge, held);
    return answers;
  });
  return { known, exceeded };
}

async function run({ budgets, rounds }: Scenario): Promise<void> {
  const first = await newAccount(2);
  const { body } = await asAdmin(`/accounts/${first.id}/keys`, { body: { name: "second", quota: null } });
  const keys = [first, { ...first, key: body.key as string, keyId: body.id as string }];
  const ids = [first.id, ...keys.map(({ keyId }) => keyId)];
  for (const [index, budget] of budgets.entries())
    if (budget) await env.WALLETS.getByName(first.id).changeBudget(ids[index]!, { ...budget });
  const { known, exceeded } = watch(first, ids.slice(1), budgets);
  const tasks: string[] = [];

  const perform = async (one: Scenario["rounds"][0]["actions"][0]): Promise<void> => {
    const statuses = [200, 402];
    if (one.do === "image") {
      const prompt = unique();
      if (one.fails) await script({ match: prompt, polls: [{ failed: "provider_error" }] });
      const sent = await call("/v1/images/generations", { key: keys[one.key]!.key, body: { model: "imgA-4", prompt, n: one.n } });
      expect(statuses).toContain(sent.status);
      if (sent.status === 200) tasks.push(sent.body.id as string);
    } else if (one.do === "chat") {
      const chat = { model: "textA-1", max_tokens: one.tokens, messages: [{ role: "user", content: unique() }] };
      expect(statuses).toContain((await call("/v1/chat/completions", { key: keys[one.key]!.key, body: chat })).status);
    } else if (one.do === "flush") await wakeWallet(first);
    else {
      const id = tasks[one.task % Math.max(1, tasks.length)];
      if (id === undefined) return;
      if (one.do === "finish") await finish(first, id, 4);
      else expect([200, 409]).toContain((await call(`/v1/tasks/${id}/cancel`, { key: first.key, method: "POST" })).status);
    }
  };

  for (const { actions, isCrash, pass } of rounds) {
    await Promise.all(actions.map(perform));
    await chatsSettled(first);
    expect(exceeded).toEqual([]);
    if (isCrash) await crashWallet(first);
    const midnight = Math.floor(Date.now() / dayMs + 1) * dayMs;
    if (pass === "an hour") vi.setSystemTime(Date.now() + 3_600_000);
    if (pass === "until midnight") vi.setSystemTime(midnight - 1);
    if (pass === "over midnight") vi.setSystemTime(midnight);
    // The values shown to callers equal the held and charged amounts.
    for (const [index, { key, keyId }] of keys.entries()) {
      const budget = budgets[index + 1];
      const shown = (await call("/v1/key", { key })).body.budget as { spent: number } | null;
      const from = budget && windowStart(budget.window, Date.now());
      const own = [...known.values()].filter((one) => typeof from === "number" && one.at >= from && one.keyId === keyId);
      expect(shown?.spent ?? 0).toBeCloseTo(own.reduce((sum, { amount }) => sum + amount, 0) / 1e6, 9);
    }
  }
  for (const id of tasks) await finish(first, id);
  await readBalance(first); // writes everything to D1
  const settled = new Map((await readEntries(first)).map(({ taskId, charged }) => [taskId, charged]));
  for (const [taskId, { amount }] of known) expect(settled.get(taskId)).toBe(amount);
}

test("submissions, chats, cancellations, failures and settlements in any order and in parallel", async () => {
  await fc.assert(
    fc.asyncProperty(scenario, async (one) => {
      try {
        await run(one);
      } finally {
        vi.restoreAllMocks();
      }
    }),
    // A slow machine makes fewer runs; shrinking a failure takes no longer than that.
    { numRuns: 10, interruptAfterTimeLimit: 60_000 },
  );
}, 120_000);

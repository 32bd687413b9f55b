/** The soak's own checks: they find faults, and accept explained differences. The run itself is `npm run tools -- soak`. */

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Audit, Wallet } from "../../scripts/support/api-answers.ts";
import { type AccountFacts, accountingFaults, freeFaults } from "../../scripts/soak/accounting.ts";
import { Random } from "../../scripts/support/random.ts";
import { type Account, History, type Order } from "../../scripts/engine/history.ts";
import { countTroubles, linesAbout } from "../../scripts/soak/log.ts";
import { lossesWithoutCrash, recoveries } from "../../scripts/soak/report.ts";
import { endFaults, listFaults } from "../../scripts/soak/checks.ts";

const account: Account = { name: "roomy", id: "acc_1", keyId: "key_1", apiKey: "sk-1", isTight: false };
const order = (marker: string, state: Order["state"] = "asked"): Order => ({
  account,
  kind: "image",
  marker,
  path: "/v1/images/generations",
  body: { model: "imgA-4" },
  idempotencyKey: undefined,
  state,
});

const hold = 0.001816;
const wallet = (used: number, reserved: number): Wallet => ({ quota: 10, used, reserved, remaining: 10 - used - reserved });
const clean: Audit = { tasks_open: 0, reserved: 0, drift: [] };
const facts = (change: Partial<AccountFacts> & { used?: number; reserved?: number } = {}): AccountFacts => {
  const { used = 0.03 + 0.0004, reserved = 0, ...rest } = change;
  const wallets = { account: wallet(used, reserved), key: wallet(used, reserved) };
  return { name: "roomy", wallets, charged: 30_000, chats: { charged: 400, uncertain: 0 }, ...rest };
};

test("explained balances have no faults", () => {
  expect(accountingFaults(clean, [facts()], 400)).toEqual([]);
  const lost = facts({ reserved: 2 * hold, used: 0.0312, chats: { charged: 400, uncertain: 4 } });
  expect(accountingFaults({ ...clean, tasks_open: 2, reserved: 2 * hold }, [lost], 400)).toEqual([]);
});

test("every unexplained millionth is a fault", () => {
  const wrong: [Audit, AccountFacts][] = [
    [{ ...clean, drift: [{ id: "w" }] }, facts()],
    [clean, facts({ used: 0.060401 })],
    [clean, facts({ used: 0.0004 })],
    [clean, facts({ used: 0.0308 })],
    [clean, facts({ reserved: hold })],
    [{ ...clean, tasks_open: 1, reserved: hold }, facts({ reserved: hold })],
    [{ ...clean, tasks_open: 2, reserved: 0.03 + hold }, facts({ reserved: 0.03 + hold, chats: { charged: 400, uncertain: 1 } })],
    [{ ...clean, reserved: 0.03 }, facts()],
    [clean, facts({ wallets: { account: wallet(0.0304, 0), key: wallet(0.0604, 0) } })],
    [clean, facts({ wallets: { account: { ...wallet(0.0304, 0), remaining: -1 }, key: wallet(0.0304, 0) } })],
  ];
  for (const [audit, one] of wrong) expect(accountingFaults(audit, [one], 400), JSON.stringify([audit, one])).not.toEqual([]);
});

test("answered chats are charged", () => {
  const charged = new Set(["chatcmpl-1"]);
  expect(freeFaults(["chatcmpl-3"], charged)).toEqual([]);
  expect(freeFaults(["chatcmpl-3", "chatcmpl-1"], charged)).toHaveLength(1);
});

test("a task whose status goes back is a fault, an answer that was overtaken is not", () => {
  const history = new History();
  history.accept(order("order-1"), "task_1", 0);
  const [task] = history.open();
  if (!task) throw new Error("not open");
  const early = task.sight;
  history.saw(task, early, { status: "in_progress", progress: 40 });
  history.saw(task, early, { status: "queued", progress: 0 });
  expect(history.faults).toEqual([]);
  history.saw(task, task.sight, { status: "in_progress", progress: 39 });
  expect(history.faults).toHaveLength(1);
  history.saw(task, task.sight, { status: "completed", progress: 100 });
  expect(history.open()).toEqual([]);
  history.saw(task, task.sight, { status: "failed", progress: 40 });
  expect(history.faults.at(-1)).toContain("task_1 went from completed 100 back to failed 40");
});

test("a submission with two tasks, and tasks that are missing or listed twice, are faults", () => {
  const history = new History();
  const [first, second, third] = [order("order-1"), order("order-2"), order("order-3", "refused")];
  history.orders.push(first, second, third);
  history.accept(first, "task_1", 0);
  history.accept(second, "task_2", 0);
  const row = (id: string, prompt: string) => ({
    id,
    status: "queued" as const,
    progress: 0,
    metadata: { kind: "image" as const, reserved: 1, prompt },
  });
  const good = [row("task_1", "order-1"), row("task_2", "order-2 sandbox:slow")];
  expect(listFaults(history, new Map([[account, good]]))).toEqual([]);
  expect(listFaults(history, new Map([[account, good.slice(1)]]))).toHaveLength(1);
  for (const extra of [row("task_1", "order-1"), row("task_9", "order-1"), row("task_9", "order-3"), row("task_9", "order-9")])
    expect(listFaults(history, new Map([[account, [...good, extra]]]))).toHaveLength(1);
  history.accept(first, "task_3", 0);
  expect(history.faults).toHaveLength(1);
});

test("a final state that neither the prompt, nor a caller, nor a crash explains is a fault", () => {
  const readFaults = (prompt: string, error: string | undefined, change: { isCancelAsked?: boolean; crashes?: number[] } = {}) => {
    const history = new History();
    history.accept({ ...order("order-1"), body: { model: "imgA-4", prompt } }, "task_1", 1_000);
    const [task] = history.open();
    if (!task) throw new Error("not open");
    task.final = { status: error ? "failed" : "completed", at: 9_000, error };
    task.isCancelAsked = change.isCancelAsked ?? false;
    return endFaults(
      history,
      (change.crashes ?? []).map((at) => ({ at })),
    );
  };
  expect(readFaults("order-1", undefined)).toEqual([]);
  expect(readFaults("order-1 sandbox:fail", "provider_error")).toEqual([]);
  expect(readFaults("order-1", "cancelled", { isCancelAsked: true })).toEqual([]);
  expect(readFaults("order-1", "deadline_exceeded", { crashes: [5_000, 6_000] })).toEqual([]);
  expect(readFaults("order-1 sandbox:slow", "deadline_exceeded", { crashes: [5_000] })).toEqual([]);
  expect(readFaults("order-1", "deadline_exceeded", { crashes: [500, 5_000] })).toHaveLength(1);
  for (const error of ["provider_error", "cancelled", "deadline_exceeded", "content_policy_violation"])
    expect(readFaults("order-1 sandbox:flaky", error)).toHaveLength(1);
  expect(readFaults("order-1 sandbox:fail", undefined)).toHaveLength(1);
});

test("recovery time counts from the last restart before the end, and lost chats are attributed to crashes", () => {
  const history = new History();
  history.accept(order("order-1"), "task_1", 500);
  const [task] = history.open();
  if (!task) throw new Error("not open");
  task.final = { status: "completed", at: 61_000, error: undefined };
  const crashes = [
    { at: 1_000, upAt: 8_000 },
    { at: 20_000, upAt: 31_000 },
    { at: 70_000, upAt: 80_000 },
  ];
  expect(recoveries([task], crashes).map(({ seconds }) => seconds)).toEqual([30]);
  const losses = [
    { from: 19_000, to: 20_010, what: "in a crash" },
    { from: 50_000, to: 51_000, what: "without one" },
  ];
  expect(lossesWithoutCrash(losses, crashes).map(({ what }) => what)).toEqual(["without one"]);
});

test("the same seed makes the same choices, and the whole log is kept although only its end is shown", async () => {
  const choices = (seed: number) => {
    const random = new Random(seed);
    return Array.from({ length: 50 }, () =>
      random.weighted([
        [3, "a"],
        [1, "b"],
        [0, "c"],
      ]),
    );
  };
  expect(choices(7)).toEqual(choices(7));
  expect(choices(7)).not.toEqual(choices(8));
  expect(new Set(choices(7))).toEqual(new Set(["a", "b"]));

  const directory = await mkdtemp(join(tmpdir(), "soak-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const log = join(directory, "log");
  await writeFile(log, Array.from({ length: 200 }, (_, line) => `{"unit":"poll","task":"task_${line}","outcome":"fault"}\n`).join(""));
  expect(linesAbout(log, "task_77")).toHaveLength(1);
  expect(countTroubles(log)).toEqual(new Map([["poll fault", 200]]));
});

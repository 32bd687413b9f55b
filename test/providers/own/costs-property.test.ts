/** In all orders of attempts, failures, lost answers, hedges and cancellations, an own input's booked costs are what its makers bill, also by their report. */

import "../../support/alone.ts";
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, expect, test } from "vitest";
import type { Task } from "../../../src/tasks/record.ts";
import type { End } from "../../upstreams/emulator.ts";
import { openStub } from "../../support/faults.ts";
import { call, deliver, holdTime, newAccount, pass, submit, unique, wakeWallet } from "../../support/gateway.ts";
import { deleteModels } from "../../support/models.ts";
import { Random } from "../../../scripts/support/random.ts";
import { capture } from "../support.ts";
import { put, speech } from "./support.ts";

holdTime();
beforeEach(async () => {
  capture();
  await deleteModels();
});

/** The seconds that each emulator reports. */
const seconds = { fal: 3.2, replicate: 1.5 };
/** Both makers obey them; a number is for the first calls, of whichever. */
const directives = [
  "[limit 1]",
  "[limit 3]",
  "[unavailable 1]",
  "[drop 1]",
  "[moderated 1]",
  "[moderated-later 1]",
  "[fails 1]",
  "[fails]",
  "[running 2]",
  "[queued 9]",
  "[unstoppable]",
];

test.each(Array.from({ length: 48 }, (_, seed) => seed))("seed %i", async (seed) => {
  const random = new Random(seed * 11 + 3);
  const pick = <T>(...values: T[]): T => random.pick(values);
  const cost = (unit: number) => pick<Record<string, number>>({ task: unit }, { run_second: unit }, { task: unit, run_second: unit });
  const routes = [
    { provider: "fal", model: speech.routes[0]!.model, cost: cost(0.01), bills_failures: random.chance(0.5) },
    { provider: "replicate", model: "minimax/speech-02-hd", cost: cost(0.03), bills_failures: random.chance(0.5) },
  ];
  await put("narrator", { ...speech, routes: random.chance(0.5) ? routes : routes.toReversed() });
  const account = await newAccount();
  const word = unique();
  // The clock of the maker that lists its work: later than any start here.
  const text = `${word} [created ${new Date(Date.now() + 600_000).toISOString()}] ${directives.filter(() => random.chance(0.25)).join(" ")}`;
  const id = await submit(account, "/v1/tasks", { model: "narrator", input: { text }, ...(random.chance(0.3) && { store: false }) });
  const vars = { HEDGE: pick("off", "failed", "slow"), CANCEL_CHARGE: pick("none", "full") };
  await runInDurableObject(openStub(id), (object) => {
    const configured = object as unknown as { env: Env };
    configured.env = { ...configured.env, ...vars };
  });
  const cancelsAt = random.chance(0.3) ? random.int(0, 7) : Infinity;
  const isDone = async () => {
    const task = await runInDurableObject(openStub(id), (_, ctx) => ctx.storage.kv.get<Task>("task")!);
    return "finalAt" in task && !task.earlier;
  };
  for (let round = 0, rounds = 0; round < 120; round++) {
    if (round === cancelsAt) await call(`/v1/tasks/${id}/cancel`, { method: "POST", key: account.key });
    await deliver(id);
    if ((await isDone()) && ++rounds > 2) break;
    await pass(id, random.int(1, 12));
  }
  expect(await isDone()).toBe(true);
  await wakeWallet(account);

  const row = await env.DB.prepare("SELECT cost, attempts FROM entry WHERE task_id = ?1")
    .bind(id)
    .first<{ cost: number | null; attempts: string }>();
  const booked = JSON.parse(row!.attempts) as [route: string, cost: number | null][];
  const ends = (await (await fetch(`http://upstreams.example/__ends?match=${word}`)).json()) as End[];
  for (const { provider, cost: costs, bills_failures: bills } of routes) {
    const own = ends.filter(({ upstream }) => upstream === provider);
    const all = own.filter(({ end }) => end === "made" || (end === "failed" && bills));
    // Work that Replicate stopped is billed for the time that it ran.
    const stopped = own.reduce((sum, { end, seconds = 0 }) => sum + (end === "cancelled" ? seconds : 0), 0) * (costs["run_second"] ?? 0);
    const each = (costs["task"] ?? 0) + (costs["run_second"] ?? 0) * seconds[provider as keyof typeof seconds];
    const attempt = booked.find(([name]) => name.split(" ")[1] === provider);
    const context = { text, booked, ends, vars, costs, bills };
    // Only the maker's answer says how long it worked: without one the cost is not known, and never nothing.
    if (attempt?.[1] === null)
      expect({ ...context, isUnknown: costs["run_second"] !== undefined && all.length > 0 }).toEqual({ ...context, isUnknown: true });
    else expect({ ...context, cost: attempt?.[1] ?? 0 }).toEqual({ ...context, cost: Math.round((all.length * each + stopped) * 1e6) });
  }
  expect(row!.cost ?? 0).toBe(booked.reduce((sum, [, one]) => sum + (one ?? 0), 0));
});

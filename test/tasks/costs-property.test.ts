/** In all orders of attempts, failures and hedges, the sum of booked costs is what the upstreams bill. */

import "../support/alone.ts";
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, expect, test, vi } from "vitest";
import type { Task } from "../../src/tasks/record.ts";
import { openStub } from "../support/faults.ts";
import { call, deliver, holdTime, newAccount, pass, script, unique, wakeWallet } from "../support/gateway.ts";
import { Random } from "../../scripts/support/random.ts";
import type { Script } from "../support/script.ts";

holdTime();
beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.spyOn(console, "log").mockImplementation(() => undefined);
});

const cases = 64;

/** A random upstream: what it answers to starts, polls and cancellations. */
function chaos(random: Random, match: string, model: string): Script {
  const pick = <T>(...values: T[]): T => random.pick(values);
  const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);
  const failures = pick<NonNullable<Script["polls"]>>([], [], [{ failed: pick("provider_error", "content_policy_violation") }]);
  return {
    match,
    model,
    // 429 accepts nothing. A connection that breaks after acceptance is asked again with the same key.
    starts: pick<NonNullable<Script["starts"]>>([], [], [429], [429, 429, 429], ["hang up"], [422]),
    polls: [
      ...times(pick(0, 0, 3), { progress: 5 }),
      ...times(pick(0, 0, 2, 12), 500),
      ...times(pick(0, 0, 9), { progress: 50 }),
      ...failures,
    ],
    cancels: random.chance(0.5) ? times(60, 409) : [],
  };
}

interface End {
  model: string;
  n: number;
  end: "made" | "failed" | "cancelled";
}

interface BilledRoute {
  model: string;
  cost: { image?: number; second?: number };
  bills_failures: boolean;
}

async function readBill(match: string, routes: BilledRoute[], seconds: number): Promise<number> {
  const ends = await (await env.SANDBOX!.fetch(`http://sandbox/__ends?match=${match}`)).json<End[]>();
  return ends.reduce((sum, { model, n, end }) => {
    const { cost, bills_failures: bills } = routes.find((route) => route.model === model)!;
    const one = Math.round((cost.image ?? 0) * 1e6) * n + Math.round((cost.second ?? 0) * 1e6) * seconds;
    return sum + (end === "made" || (end === "failed" && bills) ? one : 0);
  }, 0);
}

test.each(Array.from({ length: cases }, (_, seed) => seed))("seed %i", async (seed) => {
  const random = new Random(seed * 7 + 1);
  const account = await newAccount();
  const prompt = unique();
  const isVideo = random.chance(0.4);
  const [path, sold] = isVideo ? ["/v1/videos/generations", "vidC-1-0-pro-fast"] : ["/v1/images/generations", "imgA-4"];
  const seconds = isVideo ? 4 : 0;
  const routes = ["first", "second", "third"].map((model, at) => ({
    provider: "sandbox",
    model,
    cost: { [isVideo ? "second" : "image"]: 0.01 * 4 ** at },
    bills_failures: random.chance(0.5),
  }));
  for (const { model } of routes) await script(chaos(random, prompt, model));
  const size = isVideo ? { duration: seconds } : { n: random.int(1, 3) };
  const body = { model: sold, prompt, ...size, ...(random.chance(0.3) && { store: false }) };
  const created = await call(path, { key: account.key, body, vars: { ROUTES: { [sold]: routes } } });
  const id = created.body.id as string;
  const vars = { HEDGE: random.pick(["off", "failed", "slow"]), CANCEL_CHARGE: random.chance(0.5) ? "none" : "full" };
  await runInDurableObject(openStub(id), (object) => {
    const configured = object as unknown as { env: Env };
    configured.env = { ...configured.env, ...vars };
  });
  const deletes = random.chance(0.3);
  const cancelsAt = random.chance(0.3) ? random.int(0, 11) : Infinity;
  const record = () => runInDurableObject(openStub(id), (_, ctx) => ctx.storage.kv.get<Task>("task")!);
  const isDone = async () => {
    const task = await record();
    return "finalAt" in task && !task.earlier;
  };
  for (let round = 0, rounds = 0; round < 120; round++) {
    if (round === cancelsAt) await call(`/v1/tasks/${id}/cancel`, { method: "POST", key: account.key });
    await deliver(id);
    if (deletes) await call(`/v1/tasks/${id}`, { method: "DELETE", key: account.key });
    if ((await isDone()) && ++rounds > 2) break;
    await pass(id, random.int(1, 12));
  }
  expect(await isDone()).toBe(true);
  await wakeWallet(account);
  const bill = await readBill(prompt, routes, seconds);
  const entry = await env.DB.prepare("SELECT cost, attempts FROM entry WHERE task_id = ?1").bind(id).first();
  expect({ ...entry, cost: entry?.["cost"] ?? 0 }).toEqual({ ...entry, cost: bill });
  // The sums that margins are read from have it too.
  const sums = await env.DB.prepare("SELECT sum(cost) AS cost FROM settled_sum").first<number>("cost");
  const entries = await env.DB.prepare("SELECT sum(cost) AS cost FROM entry").first<number>("cost");
  expect(sums ?? 0).toBe(entries ?? 0);
});

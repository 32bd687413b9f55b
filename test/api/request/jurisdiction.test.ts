/** With JURISDICTION every object is created and found inside it: no Worker uses an unrestricted namespace. */

import { createExecutionContext, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { inJurisdiction } from "../../../src/jurisdiction.ts";
import { ClaimObject } from "../../../src/tasks/object/claim-object.ts";
import { TaskObject } from "../../../src/tasks/object/task-object.ts";
import worker from "../../../src/worker.ts";
import { call, newAccount, unique } from "../../support/gateway.ts";

const names = ["TASKS", "CLAIMS", "WALLETS", "TOKENS", "BATCHES", "ATTEMPTS"] as const;

/** The bindings of a deployment in the EU: an unrestricted namespace can only return that of the jurisdiction, which is the local one here. */
function inEu() {
  const asked: string[] = [];
  const guarded = names.map((name) => [
    name,
    {
      jurisdiction: (where: string) => {
        asked.push(`${name} ${where}`);
        return (env as unknown as Record<string, object>)[name];
      },
    },
  ]);
  return { asked, vars: { JURISDICTION: "eu", ...(Object.fromEntries(guarded) as Partial<Env>) } };
}

test("requests reach only objects of the jurisdiction", async () => {
  const { asked, vars } = inEu();
  const { key } = await newAccount();
  const task = await call("/v1/images/generations", { key, vars, body: { model: "imgA-4", prompt: unique() }, headers: { "idempotency-key": unique() } }); // prettier-ignore
  expect(task.status).toBe(200);
  expect((await call(`/v1/tasks/${task.body.id}`, { key, vars })).status).toBe(200);
  expect((await call("/v1/balance", { key, vars })).status).toBe(200);
  const token = await call("/v1/tokens", { key, vars, body: { tasks: 1, max_cost: 0.5, expires_in: 60 } });
  expect(token.status).toBe(201);
  expect((await call("/v1/tasks", { key: token.body.token, vars })).status).toBe(403);
  expect(new Set(asked)).toEqual(new Set(names.map((name) => `${name} eu`)));
  const bindings = { ...env, ...vars };
  expect(inJurisdiction(bindings)).toBe(inJurisdiction(bindings));
  expect(inJurisdiction(env)).toBe(env);
});

test("messages and the cron trigger reach only objects of the jurisdiction", async () => {
  const { asked, vars } = inEu();
  const batch = { queue: "gateway-dispatch", messages: [] } as unknown as MessageBatch<never>;
  await worker.queue(batch, { ...env, ...vars }, createExecutionContext());
  await worker.scheduled({} as ScheduledController, { ...env, ...vars, OPERATIONS: { check: async () => undefined } as never });
  expect(asked).toHaveLength(2 * names.length);
});

test("objects find other objects in their jurisdiction", async () => {
  const { asked, vars } = inEu();
  const bindings = { ...env, ...vars } as Env;
  await runInDurableObject(env.CLAIMS.getByName(unique()), async (_, ctx) => {
    const object = new ClaimObject(ctx, bindings);
    await expect(object.submit("task_forged", "fingerprint", {} as never)).rejects.toThrow();
  });
  expect(asked).toContain("TASKS eu");
  await runInDurableObject(env.TASKS.get(env.TASKS.newUniqueId()), (_, ctx) => void new TaskObject(ctx, bindings));
  expect(asked).toContain("WALLETS eu");
});

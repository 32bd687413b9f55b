/** The operations of a run by those who must achieve nothing: strangers without a key, and an account that tries ids and keys of another. */

import { listDurableObjectIds } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { newApiKey, newClientToken, sha256Hex } from "../../src/base/ids.ts";
import type { Account } from "../support/gateway.ts";
import { accept, image } from "./submissions.ts";
import type { AcceptedTask, World } from "./world.ts";

/** What a stranger can send as a key: invented, mistyped, no key at all, and what a copy of the database contains. */
const invented: ((account: Account) => Promise<string> | string)[] = [
  () => newApiKey(),
  () => `${newApiKey().slice(0, -1)}!`,
  () => newClientToken(env.TOKENS.newUniqueId()),
  (account) => sha256Hex(account.key),
  (account) => account.keyId,
  (account) => `st-${account.key.slice(3)}`,
];

const body = { model: "imgA-4", prompt: "A lighthouse" };

const entrances: readonly [method: string, path: string, body?: object][] = [
  ["POST", "/v1/images/generations", body],
  ["POST", "/v1/images/generations?dry_run=true", body],
  ["POST", "/openai/v1/images/generations", body],
  ["POST", "/v1/chat/completions", { model: "textA-1", messages: [{ role: "user", content: "hi" }] }],
  ["POST", "/v1/tokens", { tasks: 1, max_cost: 1, expires_in: 60 }],
  ["GET", "/v1/balance"],
  ["GET", "/user/balance"],
  ["GET", "/v1/tasks"],
  ["GET", "/v1/events"],
  ["GET", "/v1/webhook_secret"],
];

/** A stranger is refused at every entrance, and wakes no object. */
export async function stranger(world: World): Promise<string> {
  const { random, objects, faultInjector } = world;
  const key = await random.pick(invented)(random.pick(world.accounts));
  const [method, path, content] = random.pick(entrances);
  // A batch makes tasks beside the request, and a stranger has no id of a token that the platform made.
  const others = () => [...objects.all.values()].filter(({ kind }) => kind !== "task" && kind !== "token");
  const count = async () => others().length + (await listDurableObjectIds((env as unknown as OpenAiBindings).ATTEMPTS)).length;
  const before = await count();
  const lines = world.trace.length;
  const answer = await world.call({ id: "", keyId: "", key }, path, { method, ...(content && { body: content }) });
  // A look-up in the database may fail.
  if (faultInjector.scope.faults > 0 && answer.status >= 500) return `${path} ${answer.status}`;
  expect(answer.status, `${method} ${path} without a key`).toBe(401);
  // Operations that ran while this one was paused may have woken objects.
  if (world.trace.length === lines) expect(await count(), `${method} ${path} without a key wakes no object`).toBe(before);
  return `${path} ${answer.status}`;
}

/** The ways to use a task of another account. All of them answer as if it did not exist. */
const intrusions: ((world: World, as: Account, id: string) => Promise<{ status: number }>)[] = [
  (world, as, id) => world.call(as, `/v1/tasks/${id}`),
  (world, as, id) => world.call(as, `/v1/videos/generations/${id}`),
  (world, as, id) => world.call(as, `/v1/tasks/${id}/receipt`),
  (world, as, id) => world.call(as, `/v1/tasks/${id}/callback`),
  (world, as, id) => world.call(as, `/v1/tasks/${id}/callback`, { method: "POST" }),
  (world, as, id) => world.call(as, `/v1/tasks/${id}/events`),
  (world, as, id) => world.call(as, `/v1/tasks/${id}/cancel`, { method: "POST" }),
  (world, as, id) => world.call(as, `/v1/videos/${id}/remix`, { body: { model: "vidA-2", prompt: "At night" } }),
  (world, as, id) => world.call(as, "/v1/videos/generations", { body: { model: "vidA-2", from_task: id, timestamps: "0,2" } }),
];

/** Two accounts that work together: one uses the ids and the idempotency keys of the other, and gets nothing that is not its own. */
export async function collude(world: World): Promise<string> {
  const { random, faultInjector } = world;
  const accepted = [...world.accepted.values()];
  if (accepted.length === 0 || world.accounts.length < 2) return "none";
  const { account, id } = random.pick(accepted);
  const other = random.pick(world.accounts.filter((one) => one !== account));
  const label = world.objects.ofTask(id)?.label;
  if (world.keyed.length > 0 && random.chance(0.3)) return reuseKey(world, other);
  const { status } = await random.pick(intrusions)(world, other, id);
  if (faultInjector.scope.faults > 0 && status >= 500) return `${label} ${status}`;
  expect(status, `${label} of another account`).toBe(404);
  return `${label} ${status}`;
}

/** An idempotency key belongs to its account: with another account's key a submission is a new task. */
async function reuseKey(world: World, as: Account): Promise<string> {
  const foreign = world.random.pick(world.keyed);
  if (foreign.account === as) return "its own key";
  const own = image(world);
  const key = `foreign-${foreign.key}-${world.keyed.length}`;
  const request = { ...own, account: as };
  const answer = await world.call(as, request.path, { body: request.body, headers: { "idempotency-key": foreign.key } });
  if (answer.status !== 200) return `${key} ${answer.status}`;
  const task: AcceptedTask = { account: as, id: answer.body.id as string, kind: request.kind };
  expect(task.id, "a key of another account is answered with a task of one's own").not.toBe(foreign.id);
  if (!answer.headers.has("idempotent-replayed")) accept(world, {}, undefined, answer, task);
  return `${key} ${world.objects.ofTask(task.id)?.label}`;
}

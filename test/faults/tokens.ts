/** The operations of a run with client tokens: issued, and used for submissions, which keep to their allowance whatever fails. */

import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { toTokenObjectId } from "../../src/base/ids.ts";
import type { Task } from "../../src/tasks/record.ts";
import type { Account } from "../support/gateway.ts";
import { accept, image } from "./submissions.ts";
import type { World } from "./world.ts";

/** The account with the token as its key, and the allowance. */
export interface KnownToken {
  account: Account;
  key: string;
  tasks: number;
  maxCost: number;
}

/** Issues a token, or submits with one. */
export async function useToken(world: World): Promise<string> {
  const { random, tokens } = world;
  if (tokens.length === 0 || random.chance(0.3)) return issue(world);
  const { account, key } = random.pick(tokens);
  const { body, path, kind } = image(world, account);
  const answer = await world.call({ ...account, key }, path, { body });
  if (answer.status === 200) accept(world, {}, undefined, answer, { account, id: answer.body.id as string, kind });
  return String(answer.status);
}

async function issue(world: World): Promise<string> {
  const { random, tokens } = world;
  const account = random.pick(world.accounts);
  const [tasks, maxCost] = [random.int(1, 3), random.pick([0.03, 0.06, 0.1, 1])];
  const { status, body } = await world.call(account, "/v1/tokens", { body: { tasks, max_cost: maxCost, expires_in: 3_600 } });
  if (status === 201) tokens.push({ account, key: body.token as string, tasks, maxCost });
  return String(status);
}

/** No token has more tasks than its allowance, and they cost at most that. */
export function checkTokens(world: World, records: Map<string, Task>): void {
  for (const { key, tasks, maxCost } of world.tokens) {
    const id = toTokenObjectId(env.TOKENS, key)!.toString();
    const own = [...records.values()].filter(({ submission }) => submission.token === id);
    expect(own.length, "tasks of a token").toBeLessThanOrEqual(tasks);
    expect(
      own.reduce((sum, { charged = 0 }) => sum + charged, 0),
      "what they cost",
    ).toBeLessThanOrEqual(Math.round(1e6 * maxCost));
  }
}

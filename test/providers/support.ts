/** How tests reach a model through a route of their choice, and look into the emulators' book. */

import { call, finish, newAccount, type Account, type Answer } from "../support/gateway.ts";
import type { Entry } from "../upstreams/emulator.ts";

export type Routes = Record<string, { provider: string; model: string }[]>;

/** Submits under these routes: whatever the gateway answers. */
export async function submitTo(routes: Routes, path: string, body: object): Promise<Answer & { account: Account }> {
  const account = await newAccount();
  return { account, ...(await call(path, { key: account.key, body, vars: { ROUTES: routes } })) };
}

/** Submits under these routes and lets queue and alarms work: the `data` of the final generic answer. */
export async function generate(routes: Routes, path: string, body: object, rounds = 40) {
  const { account, status, body: made } = await submitTo(routes, path, body);
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(made)}`);
  const done = await finish(account, made.id as string, rounds);
  return { account, id: made.id as string, data: done.body.data };
}

/** What the emulators were asked about prompts that contain this. */
export async function asked(match: string): Promise<Entry[]> {
  const response = await fetch(`http://upstreams.example/__calls?match=${encodeURIComponent(match)}`);
  return response.json();
}

/** The names of those calls. */
export const callsOf = async (match: string) => (await asked(match)).map((entry) => entry.call);

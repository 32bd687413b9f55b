/** How tests reach a model through a route of their choice, look into the emulators' book, and see what is logged. */

import { vi } from "vitest";
import { call, finish, newAccount, type Account, type Answer } from "../support/gateway.ts";
import type { Job } from "../../src/providers/provider.ts";
import type { Entry } from "../upstreams/emulator.ts";

export type Routes = Record<string, { provider: string; model: string }[]>;

/** One of our models through these of the provider's, the first one first. */
export const routesTo = (provider: string, model: string, ...ids: string[]): Routes => ({
  [model]: ids.map((id) => ({ provider, model: id })),
});

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

/** How many of those calls have this name. */
export const countOf = async (match: string, name: string) => (await callsOf(match)).filter((one) => one === name).length;

/** The bodies of the submissions among them. */
export const sent = async (match: string) =>
  // oxlint-disable-next-line typescript/no-explicit-any -- bodies are looked at field by field
  (await asked(match)).filter(({ call: name }) => name === "start").map(({ body }) => body as any);

/** Collects every line that is logged until the mocks are restored; none is shown. */
export function capture(): string[] {
  const lines: string[] = [];
  for (const method of ["log", "info", "warn", "error", "debug"] as const)
    vi.spyOn(console, method).mockImplementation((...values: unknown[]) => void lines.push(values.map(String).join(" ")));
  return lines;
}

/** `Job.keep` of an adapter that is asked by itself: what it made stays in memory. */
export const keep: Job["keep"] = async (bytes) => {
  const chunks: Uint8Array[] = [];
  for await (const chunk of bytes) chunks.push(chunk);
  const file = new Blob(chunks);
  return { open: () => Promise.resolve({ body: file.stream(), type: "image/png", length: file.size }) };
};

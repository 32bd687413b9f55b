/** How provider tests choose routes, read the emulators' records, and capture the log. */

import { vi } from "vitest";
import { env } from "cloudflare:workers";
import { insertCharacter } from "../../src/db/characters.ts";
import { call, finish, newAccount, type Account, type Answer } from "../support/gateway.ts";
import type { Job } from "../../src/providers/provider.ts";
import type { Call as MakersCall, Entry } from "../upstreams/emulator.ts";

export type Routes = Record<string, { provider: string; model: string }[]>;

/** Routes of one model to these upstream model ids of a provider, in this order. */
export const routesTo = (provider: string, model: string, ...ids: string[]): Routes => ({
  [model]: ids.map((id) => ({ provider, model: id })),
});

/** Submits with these routes and returns the gateway's answer. */
export async function submitTo(routes: Routes, path: string, body: object): Promise<Answer & { account: Account }> {
  const account = await newAccount();
  return { account, ...(await call(path, { key: account.key, body, vars: { ROUTES: routes } })) };
}

/** Submits with these routes and runs queue and alarms: the `data` of the final generic answer. */
export async function generate(routes: Routes, path: string, body: object, rounds = 40) {
  const { account, status, body: made } = await submitTo(routes, path, body);
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(made)}`);
  const done = await finish(account, made.id as string, rounds);
  return { account, id: made.id as string, data: done.body.data };
}

/** The emulators' recorded calls for prompts that contain this. */
export async function asked(match: string): Promise<Entry[]> {
  const response = await fetch(`http://upstreams.example/__calls?match=${encodeURIComponent(match)}`);
  return response.json();
}

/** The names of those calls. */
export const readCalls = async (match: string) => (await asked(match)).map((entry) => entry.call);

/** The number of those calls with this name. */
export const countAll = async (match: string, name: string) => (await readCalls(match)).filter((one) => one === name).length;

/** The bodies of the submissions among them. */
export const sent = async (match: string) =>
  // oxlint-disable-next-line typescript/no-explicit-any -- bodies are looked at field by field
  (await asked(match)).filter(({ call: name }) => name === "start").map(({ body }) => body as any);

/** The calls that makers make for prompts that contain this, once the work has ended. */
export async function callsOfMakers(match: string): Promise<MakersCall[]> {
  const response = await fetch(`http://upstreams.example/__callbacks?match=${encodeURIComponent(match)}&at=${Date.now()}`);
  return response.json();
}

/** Delivers a maker's call to the gateway. */
export const announce = ({ url, headers, body }: MakersCall, vars?: Partial<Env>): Promise<Answer> =>
  call(url, { method: "POST", headers, body, ...(vars && { vars }) });

/** Collects every log line until the mocks are restored; none is printed. */
export function capture(): string[] {
  const lines: string[] = [];
  for (const method of ["log", "info", "warn", "error", "debug"] as const)
    vi.spyOn(console, method).mockImplementation((...values: unknown[]) => void lines.push(values.map(String).join(" ")));
  return lines;
}

/** `Job.keep` for tests of an adapter alone: outputs stay in memory. */
export const keep: Job["keep"] = async (bytes) => {
  const chunks: Uint8Array[] = [];
  for await (const chunk of bytes) chunks.push(chunk);
  const file = new Blob(chunks);
  return { open: () => Promise.resolve({ body: file.stream(), type: "image/png", length: file.size }) };
};

/** Submits a video at 1080p that mentions a character, whose image is a reference. */
export async function submitReferenceAt1080p(routes: Routes, path: string, model: string, prompt: string) {
  const account = await newAccount();
  await insertCharacter(env.DB, {
    id: `ch_${crypto.randomUUID()}`,
    accountId: account.id,
    username: "ann.1",
    displayName: "Ann Lee",
    model: "vidA-2",
    provider: "sandbox",
    handle: null,
    pictureType: "image/png",
    pictureDigest: "x",
    createdAt: Date.now(),
  });
  const body = { model, prompt: `${prompt} @ann.1 sings`, metadata: { resolution: "1080p" } };
  return { account, ...(await call(path, { key: account.key, body, vars: { ROUTES: routes } })) };
}

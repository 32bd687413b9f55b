/** The operations of a run about batches: begun once or again with the same key, watched, cancelled; and what must hold at the end. */

import { env } from "cloudflare:workers";
import { expect } from "vitest";
import type { BatchView } from "../../src/api/batches/view.ts";
import { type Account, asAdmin } from "../support/gateway.ts";
import { kept } from "./files.ts";
import type { Entry } from "./invariants.ts";
import { micro } from "./readers.ts";
import { words } from "./submissions.ts";
import type { World } from "./world.ts";

/** The model of the chats in batches: others use another one. */
const chatModel = "textA-1-mini";

/** A batch that was answered, and what its caller has seen of it. */
export interface KnownBatch {
  account: Account;
  /** Missing until an answer contained it: batches are found by their key. */
  id?: string;
  key: string | undefined;
  body: { requests: object[]; max_cost?: number; concurrency: number };
  ended: number;
  /** The results of lines, which never change. */
  lines: Map<string, string>;
}

interface Result {
  custom_id: string;
  status: string;
  task?: string;
  response?: object;
  error?: object;
  cost: { reserved: number; charged: number; returned: number };
}

const toLine = (world: World, { id }: Account, at: number) => {
  const { random } = world;
  const file = kept(world).find(({ account }) => account.id === id);
  const images = file && random.chance(0.5) ? { images: [file.id] } : {};
  const line = (endpoint: string, body: object) => ({ custom_id: `line ${at}`, endpoint, body });
  return random.weighted([
    [5, line("/v1/images/generations", { model: "imgA-4", prompt: "A lighthouse", n: random.int(1, 2), ...images })],
    [1, line("/v1/videos/generations", { model: "vidD-02", prompt: "Waves" })],
    [
      4,
      line("/v1/chat/completions", {
        model: chatModel,
        max_tokens: 100,
        messages: [{ role: "user", content: random.pick(words) }],
      }),
    ],
    [1, line("/v1/images/generations", { model: "none", prompt: "A lighthouse" })],
  ] as const);
};

/** Begins a batch, or repeats the request of one with its key. */
export async function beginBatch(world: World): Promise<string> {
  const { random, batches } = world;
  const keyed = batches.filter(({ key }) => key !== undefined);
  if (keyed.length > 0 && random.chance(0.4)) return send(world, random.pick(keyed));
  const account = random.pick(world.accounts);
  const batch: KnownBatch = {
    account,
    key: random.chance(0.5) ? `batch-${batches.length}` : undefined,
    body: {
      requests: Array.from({ length: random.int(1, 4) }, (_, at) => toLine(world, account, at)),
      concurrency: random.pick([1, 1, 3]),
      ...world.outside.fields(account),
      ...(random.chance(0.3) && { max_cost: random.pick([0.03, 0.05, 0.1]) }),
    },
    ended: 0,
    lines: new Map(),
  };
  batches.push(batch);
  return send(world, batch);
}

async function send(world: World, batch: KnownBatch): Promise<string> {
  const { account, key, body } = batch;
  const keyOf = world.batchKeys.get(account.id)!;
  const { status, body: view } = await world.call({ ...account, ...keyOf }, "/v1/batches", {
    body,
    ...(key && { headers: { "idempotency-key": key } }),
  });
  if (status !== 201) return String(status);
  if (batch.id !== undefined) expect(view.id, "a repeat is answered with the first batch").toBe(batch.id);
  batch.id = view.id as string;
  return `${view.status}`;
}

const pickBegun = ({ random, batches }: World) => {
  const begun = batches.filter((one): one is KnownBatch & { id: string } => one.id !== undefined);
  return begun.length > 0 ? random.pick(begun) : undefined;
};

/** Reads a batch and its results: both only go forward. */
export async function watchBatch(world: World): Promise<string> {
  const batch = pickBegun(world);
  if (!batch) return "none";
  const { status, body } = await world.call(batch.account, `/v1/batches/${batch.id}`);
  if (status >= 500 && world.faultInjector.scope.faults > 0) return String(status);
  expect(status, "a batch that was begun is there").toBe(200);
  const { counts, cost } = body as BatchView;
  if (cost.limit !== null) expect(micro(cost.charged + cost.reserved)).toBeLessThanOrEqual(micro(cost.limit));
  expect(counts.completed + counts.failed, "ended lines stay ended").toBeGreaterThanOrEqual(batch.ended);
  batch.ended = counts.completed + counts.failed;
  await readLines(world, batch).catch((error: unknown) => {
    // The answer may break off after its beginning.
    if (world.faultInjector.scope.faults === 0 || !(error instanceof Error) || error.name === "AssertionError") throw error;
  });
  return `${body.status} ${JSON.stringify(counts)}`;
}

/** The results, of which none has changed since it was read. */
async function readLines(world: World, { account, id, lines }: KnownBatch): Promise<Result[]> {
  const { status, body } = await world.call(account, `/v1/batches/${id}/results`);
  if (status !== 200) throw new Error(`results ${status}`);
  const texts = new TextDecoder()
    .decode(body as ArrayBuffer)
    .split("\n")
    .slice(0, -1);
  return texts.map((text) => {
    const result = JSON.parse(text) as Result;
    expect(text, "a result does not change").toBe(lines.get(result.custom_id) ?? text);
    lines.set(result.custom_id, text);
    return result;
  });
}

/** Pauses the key of an account's batches, or resumes it. */
export async function pauseKey(world: World): Promise<string> {
  const { random, batchKeys } = world;
  const { keyId } = random.pick([...batchKeys.values()]);
  const paused = random.chance(0.5);
  return `${paused} ${(await asAdmin(`/keys/${keyId}`, { method: "PATCH", body: { paused } })).status}`;
}

export async function cancelBatch(world: World): Promise<string> {
  const batch = pickBegun(world);
  if (!batch) return "none";
  return String((await world.call(batch.account, `/v1/batches/${batch.id}/cancel`, { method: "POST" })).status);
}

/** Each line has ended once, its charge is that of the ledger, and the ledger has no other charges of the batch. `ledgers` by account. */
export async function checkBatches(world: World, ledgers: Map<string, Map<string, Entry>>): Promise<void> {
  const { objects, batches } = world;
  const named = new Set<string>();
  const chats = new Map<string, number>();
  for (const known of objects.all.values()) {
    const { batch } = await objects.stored(known);
    if (!batch) continue;
    const { id, accountId, maxCost } = batch.terms;
    const account = world.accounts.find((one) => one.id === accountId);
    if (!account) continue; // of a run that has failed
    const begun = batches.find((one) => one.id === id);
    const { body: view } = await world.call(account, `/v1/batches/${id}`);
    const { counts, cost, status, deliveries } = view as BatchView;
    expect(["completed", "cancelled", "failed"], `${known.label} has ended`).toContain(status);
    expect(deliveries?.pending ?? 0, `deliveries of ${known.label}`).toBe(0);
    if (status === "failed") continue;
    const results = await readLines(
      world,
      begun ?? { account, id, key: undefined, body: { requests: [], concurrency: 1 }, ended: 0, lines: new Map() },
    );
    const ids = Array.from({ length: counts.total }, (_, at) => `line ${at}`);
    expect(
      results.map(({ custom_id: customId }) => customId),
      `${known.label} has each line once and in order`,
    ).toEqual(ids);
    if (begun) expect(counts.total).toBe(begun.body.requests.length);
    expect(counts, known.label).toMatchObject({
      queued: 0,
      running: 0,
      completed: results.filter((one) => one.status === "completed").length,
    });
    const sum = results.reduce((all, one) => all + micro(one.cost.charged), 0);
    expect(micro(cost.charged), `${known.label} costs what its lines cost`).toBe(sum);
    expect(cost.reserved).toBe(0);
    if (maxCost !== undefined) expect(sum).toBeLessThanOrEqual(maxCost);
    for (const { task, cost: of } of results) {
      if (task === undefined) chats.set(accountId, (chats.get(accountId) ?? 0) + micro(of.charged));
      else {
        named.add(task);
        expect(ledgers.get(accountId)?.get(task), `a line of ${known.label}`).toMatchObject({ charged: micro(of.charged) });
      }
    }
  }
  for (const known of objects.all.values()) {
    const { task } = await objects.stored(known);
    if (task?.submission.batch && (task.charged ?? 0) > 0)
      expect(named.has(task.id), `${known.label} was charged and is no line's result`).toBe(true);
  }
  for (const [accountId, ledger] of ledgers) {
    const own = [...ledger.values()].filter(({ model }) => model === chatModel);
    // Time passes here while a chat is asked for, which otherwise ends before its hold does.
    if (own.some(({ outcome }) => outcome === "deadline_exceeded")) continue;
    const charged = own.reduce((sum, one) => sum + one.charged, 0);
    expect(charged, "chats are charged as their lines say").toBe(chats.get(accountId) ?? 0);
  }
  const open = "SELECT id FROM batch WHERE is_open = 1 AND begins_at IS NULL AND account_id IN (SELECT value FROM json_each(?1))";
  const { results } = await env.DB.prepare(open)
    .bind(JSON.stringify([...ledgers.keys()]))
    .run();
  if (!world.isRestored) expect(results, "no batch is open").toEqual([]);
}

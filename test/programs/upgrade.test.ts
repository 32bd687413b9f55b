/** An upgrade with running work: the released revision and this one share the state, with tasks in each state, and every task ends correctly. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test, vi } from "vitest";
import { migrationNames } from "../../scripts/support/migrations.ts";
import { root } from "../../scripts/support/wrangler.ts";
import { buildRevisions, live } from "../../scripts/lifetime/run.ts";
import { HeldUpstream, stopped } from "./support/held-upstream.ts";
import { type Message, MixedGateway } from "./support/mixed-gateway.ts";

const revisions = buildRevisions();
const folder = await mkdtemp(join(tmpdir(), "gateway-upgrade-"));
const upstream = new HeldUpstream();
/** Messages that were sent and not delivered. */
const messages: Message[] = [];
/** Tasks whose messages of a queue are withheld in this phase. */
const keptBack = new Map<string, string>();
const gateway = new MixedGateway(folder, { upstream: upstream.answer, fetch: upstream.receive, send: (message) => messages.push(message) });

afterAll(async () => {
  await gateway.dispose();
  await rm(folder, { recursive: true });
});

/** Longer than each lease, shorter than a video's deadline. */
const phaseMs = 340_000;
/** A wallet that was away at a chat's deadline waits this long for a late settlement before it releases the hold. */
const settlementsMs = 300_000;
const waiting = { timeout: 20_000, interval: 50 };
const quota = 1000;
let key = "test-admin";

async function ask<T = { id: string; status: string }>(path: string, body?: object): Promise<T> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const response = await gateway.fetch(path, {
    method: body ? "POST" : "GET",
    headers,
    ...(body && Object.keys(body).length > 0 && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  expect(response.ok, `${path}: ${text}`).toBe(true);
  return JSON.parse(text) as T;
}

const video = { model: "vidA-2", duration: 10 };

/** Delivers the messages that are not withheld. A consumer that waits for an upstream is not awaited: it ends with its process. */
function deliver(): void {
  for (const message of messages.splice(0)) {
    if (keptBack.get(message.body.taskId ?? "") === message.queue) messages.push(message);
    else
      void gateway.deliver(message).then(
        (again) => again && messages.push(message),
        () => undefined,
      );
  }
}

/** Delivers messages until all tasks are final. */
const until = (missing: () => string[] | Promise<string[]>) =>
  vi.waitFor(async () => {
    deliver();
    expect(await missing()).toEqual([]);
  }, waiting);

/** The open ones of these tasks. */
async function open(ids: Iterable<string>): Promise<string[]> {
  const answers = await Promise.all([...ids].map((id) => ask<{ data: { status: string } }>(`/v1/tasks/${id}`)));
  return answers.filter(({ data }) => data.status !== "completed" && data.status !== "failed").map(({ data }) => JSON.stringify(data));
}

/** Starts a task for each state, and holds each there. Returns their ids with the expected outcomes. */
async function begin(phase: number, unsettledModel: string, isLast: boolean): Promise<Map<string, string>> {
  const make = async (family: string, body: object) => (await ask(`/v1/${family}/generations`, body)).id;
  const makeVideo = (prompt: string, more: object = {}) => make("videos", { ...video, prompt, ...more });
  const started = ["start", "poll", "download"] as const;
  const [starting, polling, storing] = await Promise.all(started.map((stop) => makeVideo(`${stopped(stop, phase)} to be completed`)));
  const cancelledLater = await makeVideo(`${stopped("poll", phase)} to be cancelled later`);
  const cancelledNow = await makeVideo(`${stopped("start", phase)} to be cancelled`);
  const settling = await make("images", { model: unsettledModel, prompt: `settling ${phase}` });
  const calling = await make("images", {
    model: "imgC-3-pro-image-preview",
    prompt: `calling ${phase}`,
    callback_url: "https://receiver.example/",
  });
  keptBack.set(calling, "gateway-notify");
  const queued = await makeVideo(`queued ${phase}`);
  keptBack.set(queued, "gateway-dispatch");
  const whole = await makeVideo(`whole ${phase}`);
  // Its connection ends with the process, so its hold ends after its deadline, when all phases are over.
  const chats = isLast ? [] : [`chat ${stopped("chat", phase)}`];
  if (!isLast)
    void ask("/v1/chat/completions", { model: "textA-1", messages: [{ role: "user", content: stopped("chat", phase) }] }).catch(
      () => undefined,
    );
  await ask("/v1/chat/completions", { model: "textA-1", messages: [{ role: "user", content: "Hello" }] });

  const asked = [
    ...started.map((stop) => `${stop} ${stopped(stop, phase)} to be completed`),
    `start ${stopped("start", phase)} to be cancelled`,
    `poll ${stopped("poll", phase)} to be cancelled later`,
    ...chats,
  ];
  await until(() => asked.filter((call) => !upstream.asked.has(call)));
  await ask(`/v1/tasks/${cancelledNow}/cancel`, {});
  await until(() => open([whole, settling, calling]));
  await until(() => [calling].filter((id) => !messages.some(({ body, queue }) => body.taskId === id && queue === "gateway-notify")));
  const completed = [starting, polling, storing, settling, calling, queued, whole].map((id) => [id, "completed"] as const);
  return new Map<string, string>([
    ...completed.map(([id, end]) => [id ?? "", end] as const),
    [cancelledLater, "cancelled later"],
    [cancelledNow, "cancelled"],
  ]);
}

/** Ends the work of an earlier phase. */
async function finish(tasks: Map<string, string>): Promise<void> {
  for (const [id, end] of tasks) if (end === "cancelled later") await ask(`/v1/tasks/${id}/cancel`, {});
  await until(() => open(tasks.keys()));
}

/** The ended tasks of `/v1/events`, which were `seen` first. */
async function readEnded(seen: string[]): Promise<string[]> {
  const { data } = await ask<{ data: { task: string }[] }>("/v1/events?limit=100");
  const ended = data.map(({ task }) => task);
  expect(ended.slice(0, seen.length)).toEqual(seen);
  return ended;
}

test("tasks in each state end correctly while the Worker and its objects have different revisions", async () => {
  const { released, gateway: current } = await revisions;
  const migrations = await migrationNames(join(root, "migrations"));
  const all = new Map<string, string>();
  const phases = [
    { worker: released.modules, objects: released.modules },
    { worker: current, objects: released.modules },
    { worker: released.modules, objects: current },
    { worker: current, objects: current },
  ];
  let begun = new Map<string, string>();
  let accountId = "";
  let ended: string[] = [];
  const calls: Record<string, number>[] = [];
  for (const [phase, revisions] of phases.entries()) {
    upstream.phase = phase;
    keptBack.clear();
    // In turns, so that work that an earlier phase could not settle can be settled.
    const unsettledModel = phase % 2 === 0 ? "imgA-4" : "imgB-4o-image";
    await gateway.switchTo({ ...revisions, shiftMs: phase * phaseMs, unsettledModel });
    if (phase === 0) {
      await gateway.migrate(released.migrations);
      accountId = (await ask("/admin/accounts", { email: "caller@example.com", quota })).id;
      key = (await ask<{ key: string }>(`/admin/accounts/${accountId}/keys`, { name: "test", quota: null })).key;
    }
    if (phase === 1) await gateway.migrate(migrations.filter((name) => !released.migrations.includes(name)));
    calls.push(await ask<Record<string, number>>("/calls"));
    await finish(begun);
    ended = await readEnded(ended);
    begun = await begin(phase, unsettledModel, phase === phases.length - 1);
    for (const [id, end] of begun) all.set(id, end);
  }
  keptBack.clear();
  await gateway.switchTo({ worker: current, objects: current, shiftMs: phases.length * phaseMs, unsettledModel: "" });
  upstream.phase = phases.length;
  await finish(begun);
  ended = await readEnded(ended);
  expect(ended.toSorted()).toEqual([...all.keys()].toSorted());
  await until(() => phases.slice(upstream.called.length).map(() => "a callback"));
  const audit = () => ask<{ isGrantRight: boolean; held: number; open: number }>(`/audit/${accountId}`);
  // A moved clock is an absence for the wallet: each start postpones the release of a chat's hold that is long overdue. Then the alarm, which
  // needs a moment, releases it after the next start.
  const hasReleased = () =>
    vi
      .waitFor(async () => expect(await audit()).toMatchObject({ open: 0 }), { timeout: 5_000, interval: 50 })
      .then(
        () => true,
        () => false,
      );
  for (let wait = 1; wait <= 3; wait++) {
    const shiftMs = phases.length * phaseMs + wait * settlementsMs;
    await gateway.switchTo({ worker: current, objects: current, shiftMs, unsettledModel: "" });
    if (await hasReleased()) break;
  }
  await vi.waitFor(async () => expect(await audit()).toMatchObject({ isGrantRight: true, held: 0, open: 0 }), waiting);
  const rows = await gateway.rows<{ id: string; kind: string; held: number; charged: number; outcome: string }>(
    "SELECT task_id AS id, kind, held, charged, outcome FROM entry WHERE account_id = ?",
    accountId,
  );
  expect(Object.fromEntries(rows.filter(({ kind }) => kind !== "chat").map(({ id, outcome }) => [id, outcome]))).toEqual(
    Object.fromEntries([...all].map(([id, end]) => [id, end === "completed" ? end : "cancelled"])),
  );
  expect(
    rows
      .filter(({ kind }) => kind === "chat")
      .map(({ outcome }) => outcome)
      .sort(),
  ).toEqual([...phases.map(() => "completed"), ...phases.slice(1).map(() => "deadline_exceeded")]);
  // Completed tasks are charged the held amount, chats a part of it, and the others nothing.
  const wrong = rows.filter(({ kind, held, charged, outcome }) =>
    outcome !== "completed" ? charged !== 0 : kind === "chat" ? charged === 0 || charged >= held : charged !== held,
  );
  expect(wrong).toEqual([]);
  const used = rows.reduce((sum, { charged }) => sum + charged, 0) / 1_000_000;
  expect(await ask("/v1/user/balance")).toMatchObject({ remain_balance: quota - used, used_balance: used });
  // Nothing was submitted to the upstream twice: one key for each task.
  expect(upstream.prompts.size).toBe(all.size);
  expect(new Set(upstream.called).size).toBe(phases.length);
  // The methods that the released Worker calls exist, and need no further argument.
  const [before = {}, after = {}] = calls;
  expect(Object.keys(before).length).toBeGreaterThan(30);
  const broken = Object.entries(before).filter(([method, needed]) => (after[method] ?? Infinity) > needed);
  expect(broken).toEqual([]);
});

test("a lifetime with an upgrade, archive steps and a restored database (`npm run tools -- lifetime`): every unit is where it belongs", async () => {
  // Its backup is from before the upgrade, and entries are archived before and after it is restored.
  const { faults, tasks, chats, archived, trace } = await live(14, await revisions);
  expect(faults, trace.join("\n")).toEqual([]);
  expect(trace.join("\n")).toMatch(/backup\n[^]*migrations\n[^]*[1-9]\d* archived\n[^]*migrations\n {2}restored, reconciled/);
  expect([tasks, chats, archived].every((count) => count > 0)).toBe(true);
});

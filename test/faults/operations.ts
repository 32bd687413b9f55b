/** The operations of a run: actions of callers, the queue, time and crashing machines, in a random order. */

import { expect } from "vitest";
import { type Sight, sightFaults } from "../../scripts/engine/history.ts";
import type { Known } from "./objects.ts";
import { asAdmin } from "../support/gateway.ts";
import { beginBatch, cancelBatch, pauseKey, watchBatch } from "./batches.ts";
import { deleteFile, submitFile, upload } from "./files.ts";
import { changeBucket, remove, sendAgain } from "./outside.ts";
import { readEvents, readMoney, readReceipt } from "./readers.ts";
import { collude, stranger } from "./strangers.ts";
import { chat, image, repeat, sequel, submit, video } from "./submissions.ts";
import { useToken } from "./tokens.ts";
import { advance, type AcceptedTask, type World } from "./world.ts";

type Operation = (world: World) => Promise<string>;

const operations: (readonly [weight: number, name: string, operation: Operation])[] = [
  [9, "submit image", (world) => submit(world, image(world))],
  [8, "submit video", (world) => submit(world, video(world))],
  [7, "submit sequel", async (world) => submit(world, await sequel(world))],
  [7, "repeat", repeat],
  [7, "chat", chat],
  [6, "begin batch", beginBatch],
  [8, "watch batch", watchBatch],
  [1, "cancel batch", cancelBatch],
  [2, "pause key", pauseKey],
  [30, "carry on", carryOn],
  [12, "finish", finish],
  [8, "status", status],
  [2, "list", list],
  [4, "events", readEvents],
  [3, "receipt", readReceipt],
  [3, "balance", readMoney],
  [3, "upload", upload],
  [2, "submit file", submitFile],
  [2, "delete file", deleteFile],
  [4, "token", useToken],
  [2, "bucket", changeBucket],
  [2, "send again", sendAgain],
  [3, "delete", remove],
  [3, "cancel", cancel],
  [2, "delete character", deleteCharacter],
  [3, "deliver again", deliverAgain],
  [2, "lose message", loseMessage],
  [2, "dead letter", deadLetter],
  [4, "late alarms", lateAlarms],
  [3, "alarm twice", alarmTwice],
  [5, "time", time],
  [4, "crash", crash],
  [4, "stranger", stranger],
  [4, "collude", collude],
  [12, "money", ({ bank }) => bank.act()],
  [1, "outage", outage],
  [1, "price", changePrice],
  [2, "late effects", async (world) => (await world.applyLateEffects(), "applied")],
];

/** Steps that take a day or more are left for the end of the run. */
const soonMs = 1_200_000;

/** Chooses one operation at random. */
export function choose(world: World): { name: string; operation: Operation } {
  return world.random.weighted(operations.map(([weight, name, operation]) => [weight, { name, operation }] as const));
}

const pickObject = (world: World): Known | undefined =>
  world.objects.all.size > 0 ? world.random.pick([...world.objects.all.values()]) : undefined;

const pickAccepted = (world: World): AcceptedTask | undefined =>
  world.accepted.size > 0 ? world.random.pick([...world.accepted.values()]) : undefined;

/** The next event without faults: a message arrives, or time passes until an alarm. */
async function carryOn(world: World): Promise<string> {
  const { random, mail } = world;
  if (mail.length > 0 && random.chance(0.7)) {
    const message = random.pick(mail);
    return `message of ${toLabel(world, message.taskId)} ${await world.deliver(message)}`;
  }
  const open = await world.waiting(soonMs);
  if (open.length === 0) return "nothing to do";
  const { known, alarm } = random.chance(0.7) ? open[0]! : random.pick(open);
  advance(Math.max(0, alarm - Date.now()) / 1000);
  await world.alarm(known);
  return `alarm of ${known.label}`;
}

/** Delivers one task's messages and runs its alarms until it has ended, while all other tasks stand still. */
async function finish(world: World): Promise<string> {
  const open = await world.waiting(soonMs);
  if (open.length === 0) return "nothing to do";
  const { known } = world.random.pick(open);
  for (let step = 0; step < 12; step++) {
    const message = world.mail.find(({ taskId }) => taskId === known.taskId);
    if (message) await world.deliver(message);
    const { alarm, task } = await world.objects.stored(known);
    if (alarm === null || alarm > Date.now() + soonMs) return `${known.label} ${task?.status ?? "ended"}`;
    advance(Math.max(0, alarm - Date.now()) / 1000);
    await world.alarm(known);
  }
  return `${known.label} goes on`;
}

const toLabel = (world: World, taskId: string) => world.objects.ofTask(taskId)?.label ?? "unknown task";

/** Queries a task: its status and progress must not be behind what its caller has seen before. */
async function status(world: World): Promise<string> {
  const accepted = pickAccepted(world);
  if (!accepted) return "none";
  const { account, id, seen } = accepted;
  // An isolate may keep an answer for a minute.
  const isGone = Date.now() > (world.deletions.get(id) ?? Infinity) + 60_000;
  const answer = await world.call(account, `/v1/tasks/${id}`);
  if (answer.status >= 500 && world.faultInjector.scope.faults > 0) return `${toLabel(world, id)} ${answer.status}`;
  if (isGone) expect(answer.status, "a task that its owner has deleted").toBe(404);
  if (world.deletions.has(id) && answer.status === 404) return `${toLabel(world, id)} deleted`;
  expect(answer.status, "a task that was accepted is there").toBe(200);
  const { status: now, progress } = answer.body.data as Sight;
  expect(sightFaults(seen ?? { status: "queued", progress: 0 }, { status: now, progress })).toEqual([]);
  accepted.seen = { status: now, progress };
  return `${toLabel(world, id)} ${now} ${progress}`;
}

/** Checks that the list shows all accepted tasks. No faults are injected meanwhile: many objects are called at once in an undefined order, which a seed could not repeat. */
async function list(world: World): Promise<string> {
  const account = world.random.pick(world.accounts);
  world.faultInjector.isOn = false;
  const answer = await world.call(account, "/v1/tasks?limit=100");
  world.faultInjector.isOn = true;
  expect(answer.status).toBe(200);
  const listed = (answer.body.data as { id: string }[]).map(({ id }) => toLabel(world, id));
  const accepted = [...world.accepted.values()].filter((task) => task.account === account && !world.deletions.has(task.id));
  expect(listed).toEqual(expect.arrayContaining(accepted.map(({ id }) => toLabel(world, id))));
  return `${listed.length} of ${accepted.length}`;
}

async function cancel(world: World): Promise<string> {
  const accepted = pickAccepted(world);
  if (!accepted) return "none";
  const answer = await world.call(accepted.account, `/v1/tasks/${accepted.id}/cancel`, { method: "POST" });
  if (answer.status === 200) accepted.seen = { status: "failed", progress: answer.body.data.progress };
  return `${toLabel(world, accepted.id)} ${answer.status}`;
}

async function deleteCharacter(world: World): Promise<string> {
  const account = world.random.pick(world.accounts);
  const characters = await world.call(account, "/v1/characters");
  const id = characters.body.data?.[0]?.id as string | undefined;
  if (id === undefined) return "none";
  // Its image is deleted first; until the whole deletion has succeeded, the character may exist without an image.
  world.deleting.add(id);
  const { status } = await world.call(account, `/v1/characters/${id}`, { method: "DELETE" });
  return String(status);
}

/** Delivers a message again that was acknowledged, or one twice that is waiting. */
async function deliverAgain(world: World): Promise<string> {
  const messages = [...world.delivered, ...world.mail];
  if (messages.length === 0) return "none";
  const message = world.random.pick(messages);
  return `${toLabel(world, message.taskId)} ${await world.deliver({ ...message })}`;
}

async function loseMessage(world: World): Promise<string> {
  const [message] = world.mail.splice(world.random.int(0, Math.max(0, world.mail.length - 1)), 1);
  return message ? toLabel(world, message.taskId) : "none";
}

async function deadLetter(world: World): Promise<string> {
  if (world.mail.length === 0) return "none";
  const message = world.random.pick(world.mail);
  message.isDead = true;
  return `${toLabel(world, message.taskId)} ${await world.deliver(message)}`;
}

/** Moves the clock forward by up to five minutes, then runs all alarms that are due. */
async function lateAlarms(world: World): Promise<string> {
  let run = 0;
  advance(world.random.pick([10, 60, 300]));
  for (const known of world.objects.all.values()) if (await world.alarm(known)) run++;
  return String(run);
}

async function alarmTwice(world: World): Promise<string> {
  const open = await world.waiting(soonMs);
  if (open.length === 0) return "none";
  const { known, alarm } = world.random.pick(open);
  advance(Math.max(0, alarm - Date.now()) / 1000);
  if (await world.alarm(known)) await world.repeatAlarm(known);
  return known.label;
}

async function time(world: World): Promise<string> {
  const seconds = world.random.pick([1, 2, 5, 10, 31, 60, 61, 120, 300, 600, 700]);
  advance(seconds);
  return `${seconds} s`;
}

/** The operator changes a price; tasks keep theirs. */
async function changePrice(world: World): Promise<string> {
  const price = { image: world.random.pick([0.02, 0.03, 0.05]) };
  const { status, body } = await asAdmin(`/models/imgA-4?revision=${world.priceRevision}`, { method: "PUT", body: { price } });
  if (status < 300) world.priceRevision = body.revision as number;
  return String(status);
}

/** A service does not answer for a while. */
async function outage({ random, faultInjector }: World): Promise<string> {
  faultInjector.outage = { of: random.pick(["D1", "R2", "queue"]), calls: random.int(5, 40) };
  return `${faultInjector.outage.calls} calls of ${faultInjector.outage.of}`;
}

async function crash(world: World): Promise<string> {
  const known = pickObject(world);
  // A crash in an operation that is paused takes effect when it continues, or never.
  if (!known || known.callers.length > 0) return "none";
  await world.crash(known);
  return known.label;
}

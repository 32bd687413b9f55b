/** The operations of a run that submit work: every kind of task and chat, once or again with the same key. */

import { exports } from "cloudflare:workers";
import { expect } from "vitest";
import type { Account, Answer } from "../support/gateway.ts";
import type { Random } from "../../scripts/support/random.ts";
import type { Keyed, AcceptedTask, World } from "./world.ts";
import { pixel } from "../media/images.ts";

const pixelUri = `data:image/png;base64,${pixel}`;
/** Long enough to be extracted from the body while it is read. */
const largeImage = `${pixelUri.replace(/=+$/, "")}${"A".repeat(4_002)}`;
const images = "/v1/images/generations";
const videos = "/v1/videos/generations";

const inline = (random: Random, most: number) =>
  random.chance(0.4) ? { images: Array.from({ length: random.int(1, most) }, () => random.pick([pixelUri, largeImage])) } : {};

const videoBodies = [
  { model: "vidA-2", duration: 10, metadata: { thumbnail: true } },
  { model: "vidA-2", duration: 15 },
  { model: "vidC-1-0-pro-fast" },
  { model: "vidD-02" },
];

/** The body, and its account. */
export type Unsent = Pick<Keyed, "account" | "path" | "body" | "kind">;

/** Without fields that a client token may not use, if it is for one of this account. */
export function image({ random, accounts, outside }: World, tokenOf?: Account): Unsent {
  const account = tokenOf ?? random.pick(accounts);
  const fields = tokenOf ? {} : outside.fields(account);
  const body = { model: "imgA-4", prompt: "A lighthouse", n: random.int(1, 3), ...inline(random, 3), ...fields };
  return { account, path: images, body, kind: "image" };
}

export function video({ random, accounts, outside }: World): Unsent {
  const account = random.pick(accounts);
  const chosen = random.pick(videoBodies);
  const prompt = random.chance(0.1) ? "@character walks" : "Waves";
  const body = { ...chosen, prompt, ...(chosen.model.startsWith("vidD") ? {} : inline(random, 2)), ...outside.fields(account) };
  return { account, path: videos, body, kind: "video" };
}

/** A character or a remix of a video, usually of an existing one. */
export async function sequel(world: World): Promise<Unsent> {
  const { random, objects } = world;
  const sources = [...world.accepted.values()].filter(({ kind }) => kind === "video" || kind === "remix");
  const finished = [];
  for (const source of sources) if ((await objects.stored(objects.ofTask(source.id)!)).task?.status === "completed") finished.push(source);
  if (sources.length === 0) return video(world);
  const { account, id } = random.pick(finished.length > 0 && random.chance(0.9) ? finished : sources);
  if (random.chance(0.6)) return { account, path: videos, body: { model: "vidA-2", from_task: id, timestamps: "0,2" }, kind: "character" };
  return { account, path: `/v1/videos/${id}/remix`, body: { model: "vidA-2", prompt: "At night" }, kind: "remix" };
}

/** Sends a submission, half of them with a key. */
export async function submit(world: World, request: Unsent): Promise<string> {
  if (world.random.chance(0.5)) return send(world, request);
  const keyed: Keyed = { ...request, key: `order-${world.keyed.length}`, at: Date.now() };
  world.keyed.push(keyed);
  return send(world, keyed);
}

/** Repeats a submission, or sends another one with its key. */
export async function repeat(world: World): Promise<string> {
  if (world.keyed.length === 0) return "none";
  const keyed = world.random.pick(world.keyed);
  // It would wait for the paused submission.
  if (keyed.sender && !keyed.sender.isDead) return `${keyed.key} is under way`;
  if (!world.random.chance(0.1)) return `${keyed.key} ${await send(world, keyed)}`;
  const answer = await world.call(keyed.account, keyed.path, {
    body: { ...keyed.body, user: "other" },
    headers: { "idempotency-key": keyed.key },
  });
  // If its claim was lost, this is the first submission with its key.
  if (answer.status === 200) {
    world.accepted.set(answer.body.id, { account: keyed.account, id: answer.body.id, kind: keyed.kind });
    world.keyed.splice(world.keyed.indexOf(keyed), 1);
  }
  return `${keyed.key} with another body ${answer.status}`;
}

async function send(world: World, submission: Unsent & Partial<Keyed>): Promise<string> {
  const { account, path, body, key, kind, id: first } = submission;
  submission.sender = world.faultInjector.scope;
  const answer = await world.call(account, path, { body, ...(key !== undefined && { headers: { "idempotency-key": key } }) });
  submission.sender = undefined;
  if (answer.status === 200) accept(world, submission, first, answer, { account, id: answer.body.id, kind });
  return `${kind} ${answer.status}${answer.status === 200 ? ` ${world.objects.ofTask(answer.body.id)?.label}` : ""}`;
}

const claimMs = 86_400_000;

/** Remembers an accepted task. `first` is the task that earlier answers to the key contained. */
export function accept(world: World, submission: Partial<Keyed>, first: string | undefined, answer: Answer, accepted: AcceptedTask): void {
  const { id } = accepted;
  const isFresh = submission.at !== undefined && Date.now() < submission.at + claimMs;
  if (isFresh && submission.id !== undefined) expect(id, "a repeat is answered with the first task").toBe(submission.id);
  if (isFresh && first !== undefined) expect(answer.headers.get("idempotent-replayed")).toBe("true");
  if (submission.key !== undefined) submission.id = id;
  if (!world.accepted.has(id)) world.accepted.set(id, { ...accepted, reserved: answer.body.metadata.reserved as number });
}

export const words = ["hi", "hi", "no-usage", "break", "sandbox:fail", "sandbox:reject"];

/** A chat: whole, streamed, or interrupted by the client. */
export async function chat(world: World): Promise<string> {
  const account: Account = world.random.pick(world.accounts);
  const way = world.random.pick(["whole", "streamed", "left"]);
  const content = world.random.pick(words);
  const body = { model: "textA-1", max_tokens: 100, messages: [{ role: "user", content }], ...(way !== "whole" && { stream: true }) };
  const response = await exports.default.fetch("https://gateway.example/v1/chat/completions", {
    method: "POST",
    headers: { authorization: `Bearer ${account.key}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (way === "left") await leave(response).catch(() => undefined);
  else await response.text().catch(() => "broke off");
  return `${way} "${content}" ${response.status}`;
}

/** Disconnects after the first event. */
async function leave(response: Response): Promise<void> {
  const reader = response.body!.getReader();
  await reader.read();
  await reader.cancel();
}

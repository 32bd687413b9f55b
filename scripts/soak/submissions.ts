/** The clients' submissions, some with directives that make the sandbox fail: with a key they are repeated until there is an answer, without one they are sent once. */

import { setTimeout as sleep } from "node:timers/promises";
import { encode } from "fast-png";
import type { Random } from "../support/random.ts";
import { submission, type TaskData } from "../support/api-answers.ts";
import type { Account, History, KnownTask, Kind, Order } from "../engine/history.ts";
import { type Answer, read, type HttpClient } from "../engine/http-client.ts";

const videos = "/v1/videos/generations";
/** The sandbox's directives and their weights. */
const directives = [
  [68, ""],
  [12, "sandbox:flaky"],
  [6, "sandbox:fail"],
  [6, "sandbox:flag"],
  [3, "sandbox:reject"],
  [5, "sandbox:slow"],
] as const;
const shareWithKey = 0.6;
const shareWithInlineImage = 0.15;
const inlineSide = 16;

/** A video that can be remixed and that characters can be created from. */
const isVideo = ({ order }: KnownTask) => order.body.model === "vidA-2" && order.kind !== "character";

/** A new order of this kind. Without a source video it becomes an order for a video. */
export function newOrder(kind: Kind, account: Account, history: History, random: Random): Order {
  const number = history.orders.length + 1;
  const sources = history.completed(account).filter(isVideo);
  const source = sources.length > 0 ? random.pick(sources).id : undefined;
  const idempotencyKey = random.chance(shareWithKey) ? `key-${number}` : undefined;
  const order = { account, idempotencyKey, state: "asked" as const };
  if (kind === "character" && source) {
    // Characters have no prompt: their range is the marker.
    const marker = `${(1 + number / 10_000).toFixed(4)},${(3 + number / 10_000).toFixed(4)}`;
    const body = { model: "vidA-2", from_task: source, timestamps: marker };
    return kept(history, { ...order, kind, marker, path: videos, body });
  }
  const marker = `order-${number}`;
  const prompt = `${marker} ${random.weighted(directives)}`.trim();
  if (kind === "remix" && source) {
    const body = { model: "vidA-2", prompt, duration: 10 };
    return kept(history, { ...order, kind, marker, path: `/v1/videos/${source}/remix`, body });
  }
  if (kind === "image") return kept(history, { ...order, kind, marker, path: "/v1/images/generations", body: imageBody(prompt, random) });
  return kept(history, { ...order, kind: "video", marker, path: videos, body: videoBody(prompt, sources.length === 0, random) });
}

/** The marker of a task's order, from the task's record. */
export const readMarker = ({ prompt, timestamps }: TaskData["metadata"]): string => String(prompt ?? timestamps).split(" ")[0] ?? "";

function imageBody(prompt: string, random: Random): Order["body"] {
  const size = random.pick(["1:1", "16:9", "3:4"]);
  return {
    model: random.pick(["imgA-4", "imgB-4o-image", "imgC-3-pro-image-preview"]),
    prompt,
    size,
    n: random.chance(0.3) ? 2 : 1,
    ...(random.chance(shareWithInlineImage) && { images: [inlineImage(random)] }),
  };
}

function videoBody(prompt: string, needsVideo: boolean, random: Random): Order["body"] {
  if (needsVideo || random.chance(0.4)) return { model: "vidA-2", prompt, duration: 10, metadata: { thumbnail: random.chance(0.5) } };
  return random.chance(0.5) ? { model: "vidC-1-0-pro-fast", prompt, duration: 5 } : { model: "vidD-02", prompt, duration: 5 };
}

/** A small image of one colour. */
function inlineImage(random: Random): string {
  const data = new Uint8Array(inlineSide * inlineSide * 3).fill(random.int(0, 255));
  const png = encode({ width: inlineSide, height: inlineSide, data, channels: 3, depth: 8 });
  return `data:image/png;base64,${Buffer.from(png).toString("base64")}`;
}

function kept(history: History, order: Order): Order {
  history.orders.push(order);
  return order;
}

const repeatPauseMs = 400;
/** Longer than any outage. */
const patienceMs = 120_000;

/** Sends the order, and repeats it with its key while there is no answer or a temporary refusal. */
export async function submit(order: Order, history: History, http: HttpClient): Promise<void> {
  const { idempotencyKey, body, path, account } = order;
  for (const deadline = Date.now() + patienceMs; Date.now() < deadline; await sleep(repeatPauseMs)) {
    const wasAccepted = order.state === "accepted";
    const answer = await http.ask("POST", path, account.apiKey, { body, idempotencyKey });
    if (answer?.status === 503) history.count("submissions answered 503");
    if (answer && (answer.status !== 503 || idempotencyKey === undefined)) return take(order, answer, wasAccepted, history);
    if (idempotencyKey === undefined) {
      order.state = "lost";
      return;
    }
    history.count("submissions repeated");
  }
  history.fault(`${order.marker} with the key ${idempotencyKey} got no answer for ${patienceMs / 1000} s`);
}

/** Repeats an answered order: the task must be the same, and the answer marked as a replay. */
export async function repeat(order: Order, history: History, http: HttpClient): Promise<void> {
  const { idempotencyKey, body, path, account } = order;
  const answer = await http.ask("POST", path, account.apiKey, { body, idempotencyKey });
  if (!answer || answer.status === 503) return;
  take(order, answer, true, history);
  if (answer.status === 200 && answer.headers.get("idempotent-replayed") !== "true")
    history.fault(`${order.marker}: a repeat of ${order.id} was not called one`);
}

/** The same key with another body must be refused. */
export async function conflict(order: Order, history: History, http: HttpClient): Promise<void> {
  const { idempotencyKey, body, path, account } = order;
  const answer = await http.ask("POST", path, account.apiKey, { body: { ...body, user: "another" }, idempotencyKey });
  if (answer && answer.status !== 409 && answer.status !== 503)
    history.fault(`${order.marker}: its key with another body was answered ${answer.status}`);
}

/** `wasAccepted` is the state before the request; answers to a request that was sent twice at once arrive in any order. */
function take(order: Order, answer: Answer, wasAccepted: boolean, history: History): void {
  if (answer.status === 200) {
    const { id, metadata } = read(submission, answer);
    if (metadata.kind !== order.kind) history.fault(`${id} is a ${metadata.kind}, asked was for a ${order.kind}`);
    history.accept(order, id, Date.now());
    return;
  }
  history.count(`submissions refused ${answer.status}`);
  if (wasAccepted) history.fault(`${order.marker} was accepted as ${order.id}, its repeat answered ${answer.status}`);
  else if (!isRight(order, answer.status)) history.fault(`${order.marker} was answered ${answer.status}: ${answer.text.slice(0, 300)}`);
  else if (order.state !== "accepted") order.state = "refused";
}

/** True for expected refusals. */
function isRight({ account, body }: Order, status: number): boolean {
  if (status === 402) return account.isTight;
  if (status === 422) return String(body["prompt"]).includes("sandbox:reject");
  return status === 503;
}

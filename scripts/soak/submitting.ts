/** Submissions of careful callers: with a key they are repeated until there is an answer, without one they are sent once. */

import { setTimeout as sleep } from "node:timers/promises";
import { submission } from "../support/api-answers.ts";
import type { History, Order } from "./history.ts";
import { type Answer, read, type HttpClient } from "./http-client.ts";

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

/** `wasAccepted` is the state before the request; answers to an order that was sent twice at once arrive in any order. */
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

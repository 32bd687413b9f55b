/** Forwards large bodies to the gateway: only a few at a time are read, converted and sent. */

import { Semaphore } from "../concurrency.ts";
import { ask } from "./ask.ts";
import { refuseLike } from "./errors.ts";
import type { AppContext } from "./paths.ts";

const smallEnough = 64 * 1024;

/** True if the body may be so large that only a few fit into memory. */
export const isLarge = (c: AppContext) => Number(c.req.header("content-length") ?? Infinity) > smallEnough;

/** A body is completely in memory, and the isolate has 128 MB for all requests. One account cannot take all permits. */
const turns = new Semaphore({ maxAtOnce: 3, maxOfOne: 2, longestMs: 120_000, longestWaitMs: 20_000 });

/** A request to the gateway whose body is produced piece by piece. */
export interface Sending {
  path: string;
  headers?: Record<string, string>;
  body: Iterable<Uint8Array>;
}

/**
 * Reads and converts a body and sends the result to the gateway under one permit. The permit is released when the gateway has read the
 * body, because the answer of a chat may take minutes. Throws the errors of `toSending` and of the gateway, and 503 if the wait for a
 * permit is too long or another body of the account is already waiting.
 */
export async function sendInTurn(c: AppContext, toSending: () => Promise<Sending>): Promise<Response> {
  // All unknown keys count as one account: the gateway refuses them only after it has the body.
  const account = (await c.env.API.account()) ?? "unknown";
  const turn = turns.take(
    async () => send(c, await toSending()),
    () => refuseLike(c, 503, "unavailable"),
    account,
  );
  // If the caller disconnects, reading fails, which releases the permit. Without this the platform would cancel the request and the permit
  // would only expire.
  c.executionCtx.waitUntil(turn.catch(() => undefined));
  return (await turn).answer;
}

/** Resolves when the gateway has read the body; the answer follows. Throws the gateway's error if it refuses the request before that. */
async function send(c: AppContext, { path, headers = {}, body }: Sending): Promise<{ answer: Promise<Response> }> {
  const { readable, writable } = new IdentityTransformStream();
  const writer = writable.getWriter();
  const answer = ask(c, path, { body: readable, headers });
  // The gateway may refuse the request without reading it: do not wait for the rest to be sent.
  answer.catch(() => writer.abort().catch(() => undefined));
  try {
    for (const bytes of body) await writer.write(bytes);
    await writer.close();
  } catch (error) {
    writer.abort(error).catch(() => undefined);
    await answer; // the gateway's error is more specific
    throw error;
  }
  return { answer };
}

const pieceCharacters = 64 * 1024;

/** A value as JSON, in pieces. Does not keep the value in memory. */
export const toPieces = (value: object) => cutText(JSON.stringify(value));

function* cutText(text: string): Generator<Uint8Array> {
  const encoder = new TextEncoder();
  for (let from = 0; from < text.length;) {
    const cut = text.slice(from, from + pieceCharacters);
    // A surrogate pair must not be split: the piece ends before it.
    const piece = cut.isWellFormed() ? cut : cut.slice(0, -1);
    yield encoder.encode(piece);
    from += piece.length;
  }
}

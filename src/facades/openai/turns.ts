/** Forwards large bodies to the gateway: only a few at a time are read, converted and sent. */

import type { AppContext } from "./context.ts";
import { Semaphore } from "../../base/concurrency.ts";
import { refuseLike } from "./errors.ts";

const smallEnough = 64 * 1024;
/** The maximum size of a body with files or images, and of a video in one. */
export const maxBodyBytes = 16 * 1024 * 1024;

/** True if the body may be so large that only a few fit into memory. */
export const isLarge = (c: AppContext) => Number(c.req.header("content-length") ?? Infinity) > smallEnough;

/**
 * A body is completely in memory, and the isolate has 128 MB for all requests. The permits are bytes; one account gets half of them, so that
 * a chat of 10 MiB may count more than twice, and its client tokens, which strangers may have, no part of that half.
 */
const turns = new Semaphore({ maxAtOnce: 3 * maxBodyBytes, maxWaiting: 8, maxHoldMs: 120_000, maxWaitMs: 20_000 });

/** A request to the gateway whose body is produced piece by piece. */
export interface Sending {
  path: string;
  headers?: Record<string, string>;
  body: Iterable<Uint8Array>;
}

/**
 * Reads and converts a body and sends the result to the gateway, a large one under a permit for its size. The permit is released when the
 * gateway has read the body, because the answer of a chat may take minutes. Throws the errors of `toSending` and of the gateway, and 503 if
 * the wait for a permit is too long or too many bodies of the account are waiting. `copies` is how often the body is in memory.
 */
export async function sendInTurn(c: AppContext, toSending: () => Promise<Sending>, copies = 1): Promise<Response> {
  if (!isLarge(c)) return (await send(c, await toSending())).answer;
  const owner = await readOwner(c);
  const bytes = Math.min(maxBodyBytes, Number(c.req.header("content-length") ?? maxBodyBytes));
  const turn = turns.take(
    async () => send(c, await toSending()),
    () => refuseLike(c, 503, "unavailable"),
    owner,
    copies * bytes,
  );
  // If the caller disconnects, reading fails, which releases the permit. Without this the platform would cancel the request and the permit
  // would only expire.
  c.executionCtx.waitUntil(turn.catch(() => undefined));
  return (await turn).answer;
}

/** Whose share of the memory a request uses: the account's, or that of all its client tokens. */
async function readOwner(c: AppContext): Promise<string> {
  const account = (await c.env.API.account()) ?? "unknown";
  return /^bearer +st-/i.test(c.req.header("authorization") ?? "") ? `${account} tokens` : account;
}

/** Resolves when the gateway has read the body; the answer follows. Throws the gateway's error if it refuses the request before that. */
async function send(c: AppContext, { path, headers = {}, body }: Sending): Promise<{ answer: Promise<Response> }> {
  const { readable, writable } = new IdentityTransformStream();
  const writer = writable.getWriter();
  const answer = c.var.gateway.ask(path, { body: readable, headers });
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

/** A value as JSON, in pieces that are valid until the next is requested. Does not keep the value in memory. */
export const toPieces = (value: object) => cutText(JSON.stringify(value));

function* cutText(text: string): Generator<Uint8Array> {
  const encoder = new TextEncoder();
  const buffer = new Uint8Array(3 * pieceCharacters);
  for (let from = 0; from < text.length;) {
    const cut = text.slice(from, from + pieceCharacters);
    // A surrogate pair must not be split: the piece ends before it.
    const piece = cut.isWellFormed() ? cut : cut.slice(0, -1);
    yield buffer.subarray(0, encoder.encodeInto(piece, buffer).written);
    from += piece.length;
  }
}

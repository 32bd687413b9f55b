/** Large bodies on their way to the gateway: a few at a time are read, converted and sent. */

import { Semaphore } from "../concurrency.ts";
import { ask } from "./ask.ts";
import { refuseLike } from "./errors.ts";
import type { AppContext } from "./paths.ts";

const smallEnough = 64 * 1024;

/** Whether a body may be so large that few of them fit into memory. */
export const isLarge = (c: AppContext) => Number(c.req.header("content-length") ?? Infinity) > smallEnough;

/** A body is in memory whole; the isolate has 128 MB for all requests. One account leaves a permit to others. */
const turns = new Semaphore({ maxAtOnce: 3, maxOfOne: 2, longestMs: 120_000, longestWaitMs: 20_000 });

/** What the gateway is asked, with a body that is made piece by piece. */
export interface Sending {
  path: string;
  headers?: Record<string, string>;
  body: Iterable<Uint8Array>;
}

/**
 * Reads and converts a body, and sends the gateway what comes of it, in one turn, which ends when the gateway has taken the body: the answer of a
 * chat may take minutes. Throws what `toSending` or the gateway has against it, 503 when others take too long, and when a body of the
 * account is waiting already. `size` is the number of permits that it takes, which need not be whole.
 */
export async function sendInTurn(c: AppContext, toSending: () => Promise<Sending>, size = 1): Promise<Response> {
  // Unknown keys are one caller to the others: the gateway refuses them only when it has the body.
  const account = (await c.env.API.account()) ?? "unknown";
  const turn = turns.take(
    async () => send(c, await toSending()),
    () => refuseLike(c, 503, "unavailable"),
    account,
    size,
  );
  // A caller who hangs up breaks the work off, which gives the turn back: the platform would only have stopped it.
  c.executionCtx.waitUntil(turn.catch(() => undefined));
  return (await turn).answer;
}

/** Resolves when the gateway has taken the body; the answer is still to come. Throws what the gateway has against the body before that. */
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
    await answer; // a refusal says more
    throw error;
  }
  return { answer };
}

const pieceCharacters = 64 * 1024;

/** A value as JSON, in pieces. The value itself is not held any more. */
export const toPieces = (value: object) => cutText(JSON.stringify(value));

function* cutText(text: string): Generator<Uint8Array> {
  const encoder = new TextEncoder();
  for (let from = 0; from < text.length;) {
    const cut = text.slice(from, from + pieceCharacters);
    // JSON has no halves of characters: the piece ends within one.
    const piece = cut.isWellFormed() ? cut : cut.slice(0, -1);
    yield encoder.encode(piece);
    from += piece.length;
  }
}

/** Reads the body of a request: a large one arrives at the gateway first, and is processed under a permit for its size. */

import { readRequestBody } from "@modelcontextprotocol/server";
import { Semaphore } from "../../base/concurrency.ts";
import type { GatewayApi, Receive } from "../../rpc/gateway-api.ts";
import { NetError } from "../../net/net-error.ts";
import { paceTimeMs, within } from "../../net/pace.ts";

/** Inline images are Base64 in the arguments; larger images must be given as URLs. */
export const maxBodyBytes = 16 * 1024 * 1024;
/** A body up to this size needs no permit, because many of them fit into memory. */
const smallEnough = 64 * 1024;

/** A body is in memory while its tool runs. One account gets half, which is one of the largest bodies. */
const memory = new Semaphore({ maxAtOnce: 2 * maxBodyBytes, maxWaiting: 8, maxHoldMs: 60_000, maxWaitMs: 10_000 });

/** The body's text; `release` is to be called when the request has been answered. Or why it is refused. */
export type Body = { text: string; release: () => void } | { refused: string; status: number };

const tooLarge: Body = { refused: `The request body must be at most ${maxBodyBytes / 1024 / 1024} MiB.`, status: 413 };
const tooSlow: Body = { refused: "The request body arrived too slowly: at least 64 KB a second are expected.", status: 408 };
const busy: Body = { refused: "Too many large requests are being processed. Try again in a few seconds.", status: 503 };
const broken: Body = { refused: "The request body could not be read.", status: 400 };

/** Reads the body of a request with a valid key. */
export async function readBody(request: Request, api: Pick<GatewayApi, "account">, receive: Receive): Promise<Body> {
  const length = request.headers.get("content-length");
  if (Number(length ?? 0) > maxBodyBytes) return tooLarge;
  if (!request.body || (length !== null && Number(length) <= smallEnough)) return readText(request);
  const account = (await api.account()) ?? "unknown";
  const received = await receive(account, request.body, maxBodyBytes);
  if (!received.ok) return { 408: tooSlow, 413: tooLarge, 503: busy }[received.status] ?? broken;
  const bytes = Number(received.headers.get("content-length"));
  const permit = await memory.tryEnter(account, bytes > smallEnough ? bytes : 0);
  if (!permit) {
    await received.body?.cancel();
    return busy;
  }
  const body = await readText(new Request(request, { method: "POST", body: received.body })).catch((error: unknown) => {
    permit.release();
    throw error;
  });
  return "text" in body ? { ...body, release: permit.release } : body;
}

async function readText(request: Request): Promise<Body> {
  try {
    const ms = paceTimeMs(Number(request.headers.get("content-length") ?? maxBodyBytes));
    const read = await within(ms, readRequestBody(request, maxBodyBytes));
    return read.tooLarge ? tooLarge : { text: read.text, release: () => undefined };
  } catch (error) {
    if (error instanceof NetError) return tooSlow;
    throw error;
  }
}

/** How the large bodies of callers arrive: measured by the caller's pace, and without holding anything that other accounts need. */

import { Semaphore } from "../../base/concurrency.ts";
import type { Caller } from "../../db/callers.ts";
import { ApiError, bodyTooLarge, statusAndType } from "../../base/errors.ts";
import { largeReader } from "../../media/large-reads.ts";
import { NetError } from "../../net/net-error.ts";
import { pace } from "../../net/pace.ts";
import { spool, type Spooled } from "../../storage/spool.ts";

/** A body up to this size is not counted, because many of them fit into memory. */
export const smallEnough = 64 * 1024;

/** The larger ones that are arriving, of which an account may have 16 at once, and 16 with its client tokens. Others never wait for them. */
const arrivals = new Semaphore({ maxAtOnce: 128, maxOfOne: 16, maxHoldMs: 300_000, maxWaitMs: 0 });
/** Those of client tokens, of which each may have 4. */
const arrivalsOfTokens = new Semaphore({ maxAtOnce: Infinity, maxOfOne: 4, maxHoldMs: 300_000, maxWaitMs: 0 });

/** Whose share of memory and of arrivals a body uses. */
export interface Owner {
  /** The account, or all of its client tokens, which strangers may have: they take nothing from its keys. */
  share: string;
  /** The id of the client token, which has a part of the share. */
  token?: string | undefined;
}

export const toOwner = ({ accountId, token }: Caller): Owner =>
  token ? { share: `${accountId} tokens`, token: token.id } : { share: accountId };

/** A body of a caller while it arrives. */
export interface Arrival {
  /**
   * The next bytes, up to `maxBytes` if that many have arrived; valid until the next call. undefined at the end. Throws `body_too_slow`, `invalid_json` if the caller disconnects, and
   * `unavailable` if too many bodies of its owner are arriving.
   */
  read(maxBytes?: number): Promise<Uint8Array | undefined>;
  /** The rest of the body, which is collected without holding what others need. Throws what `read` throws, and `body_too_large`. */
  rest(): Promise<Spooled>;
  /** Ends the arrival; the rest is not read. */
  end(): void;
}

/** Begins to read a body. The rest of it is collected up to `maxBytes`. */
export function arrive(bucket: R2Bucket, { share, token }: Owner, body: ReadableStream<Uint8Array>, maxBytes: number): Arrival {
  const reader = largeReader(body, smallEnough);
  const wait = pace();
  const permits = [arrivals.open(share), ...(token === undefined ? [] : [arrivalsOfTokens.open(token)])];
  let bytes = 0;
  const read = async (maxBytes?: number) => {
    const chunk = await wait(reader.read(maxBytes).catch(disconnected)).catch(refuse);
    bytes += chunk?.length ?? 0;
    if (bytes >= smallEnough && !permits.every((permit) => permit.resize(1))) throw new ApiError("unavailable");
    return chunk;
  };
  const end = () => {
    for (const permit of permits) permit.release();
    reader.cancel().catch(() => undefined); // it has been read, or the rest is not wanted
  };
  return { read, rest: () => spool(bucket, share, read, maxBytes).catch(refuseLarger(maxBytes)), end };
}

/** Reads a body to its end. Throws what `Arrival.rest` throws. */
async function receive(bucket: R2Bucket, owner: Owner, body: ReadableStream<Uint8Array>, maxBytes: number): Promise<Spooled> {
  const arrival = arrive(bucket, owner, body, maxBytes);
  try {
    return await arrival.rest();
  } finally {
    arrival.end();
  }
}

function disconnected(cause: unknown): never {
  throw new NetError("interrupted", { cause });
}

function refuse(error: unknown): never {
  if (!(error instanceof NetError)) throw error;
  throw new ApiError(error.reason === "timeout" ? "body_too_slow" : "invalid_json", { cause: error });
}

const refuseLarger = (maxBytes: number) => (error: unknown) => {
  if (error instanceof NetError && error.reason === "too_large") throw bodyTooLarge(maxBytes, error);
  return refuse(error);
};

/**
 * `receive` for another Worker: a refusal is an answer too, because errors lose their class between Workers. `caller` is that of the request,
 * if the gateway knows it.
 */
export const receiver =
  (bucket: R2Bucket, ctx: Pick<ExecutionContext, "waitUntil">, caller?: Caller) =>
  (accountId: string, body: ReadableStream<Uint8Array>, maxBytes: number): Promise<Response> => {
    const received = receive(bucket, caller ? toOwner(caller) : { share: accountId }, body, maxBytes).then(
      (arrived) => new Response(arrived.open(), { headers: { "content-length": String(arrived.bytes) } }),
      (error: unknown) => {
        if (!(error instanceof ApiError)) throw error;
        return new Response(error.code, { status: statusAndType(error.code).status });
      },
    );
    ctx.waitUntil(received.catch(() => undefined)); // what has been stored is deleted also if the caller disconnects
    return received;
  };

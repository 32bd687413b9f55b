/** The only requests to callers' buckets: public hosts only, no redirects, bounded in time; a file is sent as a stream. */

import { readAll } from "./bounded-body.ts";
import { NetError, permitted } from "./net-error.ts";
import { checkReceiverUrl, type UrlRules } from "./public-url.ts";

export interface BucketRequest extends UrlRules {
  method: "PUT" | "GET" | "HEAD" | "DELETE";
  headers: Record<string, string>;
  /** A file to send, and its exact length in bytes. */
  file?: { pieces: AsyncGenerator<Uint8Array, void>; bytes: number };
  /** Time limit in milliseconds until the answer. */
  timeoutMs: number;
}

export interface BucketAnswer {
  status: number;
  headers: Headers;
  /** The beginning of the answer's body, for its error code; empty after HEAD. */
  text: string;
}

const maxAnswerBytes = 16 * 1024;

/**
 * Sends a request to a caller's bucket and returns the answer, redirects included: none is followed. If reading the file fails, the request
 * is aborted before its body is complete, and that error is thrown.
 * @throws NetError `blocked_url`, `timeout`, `unreachable` or `interrupted`
 */
export async function askBucket(url: string, { method, headers, file, timeoutMs, ...rules }: BucketRequest): Promise<BucketAnswer> {
  const { href } = permitted(checkReceiverUrl(url, rules));
  const stop = new AbortController();
  let fault: unknown;
  const end = (error: unknown) => {
    fault ??= error;
    stop.abort();
  };
  const timer = setTimeout(() => end(new NetError("timeout")), timeoutMs);
  const sending = file && sendPieces(file, stop.signal);
  // A fault of the connection is the request's own.
  sending?.sent.catch((error: unknown) => error instanceof NetError || end(error));
  try {
    const response = await fetch(href, {
      method,
      redirect: "manual",
      // The platform sends no User-Agent, and some large hosts answer 403 without one.
      headers: { "user-agent": "generation-gateway", ...headers },
      ...(sending && { body: sending.body }),
      signal: stop.signal,
    });
    const text = await readStart(response);
    // A bucket that accepts a file before it has all of it has not got the file.
    if (response.ok) await sending?.sent;
    return { status: response.status, headers: response.headers, text };
  } catch (error) {
    throw fault ?? (error instanceof NetError ? error : new NetError("unreachable", { cause: error }));
  } finally {
    clearTimeout(timer);
    stop.abort();
    file?.pieces.return().catch(() => undefined); // the outcome of the request is known
  }
}

/** The beginning of an answer's body as text. */
async function readStart(response: Response): Promise<string> {
  if (!response.body) return "";
  const bytes = await readAll(response.body, maxAnswerBytes).catch((error: unknown) => {
    if (error instanceof NetError && error.reason === "too_large") return new Uint8Array();
    throw error;
  });
  return new TextDecoder().decode(bytes);
}

/** A stream of known length, which becomes the request's `content-length`. `sent` rejects with the error of reading the file, or with `NetError` if the request ends early. */
function sendPieces({ pieces, bytes }: NonNullable<BucketRequest["file"]>, signal: AbortSignal) {
  const { readable, writable } = new FixedLengthStream(bytes);
  const writer = writable.getWriter();
  const { promise: stopped, reject: stop } = Promise.withResolvers<never>();
  stopped.catch(() => undefined); // the request has ended by itself
  signal.addEventListener("abort", () => stop(new NetError("interrupted")));
  const write = (done: Promise<void>) =>
    Promise.race([done, stopped]).catch((cause: unknown) => {
      throw new NetError("interrupted", { cause });
    });
  const send = async () => {
    try {
      for await (const piece of pieces) await write(writer.write(piece));
      await write(writer.close());
    } catch (error) {
      await writer.abort(error).catch(() => undefined);
      throw error;
    }
  };
  return { body: readable, sent: send() };
}

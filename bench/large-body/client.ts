/** Sends bodies with large images while using little memory. */

import { request, type IncomingHttpHeaders } from "node:http";

const pieceBytes = 256 * 1024;

/** A body that is sent in small pieces, so that parts which repeat are in memory once. */
export interface LargeBody {
  length: number;
  pieces: () => Generator<Uint8Array>;
}

export const toBody = (parts: Uint8Array[]): LargeBody => ({
  length: parts.reduce((sum, part) => sum + part.length, 0),
  *pieces() {
    for (const part of parts) for (let at = 0; at < part.length; at += pieceBytes) yield part.subarray(at, at + pieceBytes);
  },
});

export const toJson = (value: object): LargeBody => toBody([Buffer.from(JSON.stringify(value))]);

/** Numbers without a pattern (a linear congruential generator, constants of Numerical Recipes), so that their Base64 has every letter. */
export function noise(bytes: number): Uint8Array {
  const file = new Uint8Array(bytes);
  for (let at = 0, state = 1; at < bytes; at++, state = (state * 1664525 + 1013904223) >>> 0) file[at] = state >>> 24;
  return file;
}

/** A PNG by its first bytes. */
export function image(bytes: number): Uint8Array {
  const file = noise(bytes);
  file.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return file;
}

export const toDataUri = (bytes: number): string => `data:image/png;base64,${Buffer.from(image(bytes)).toString("base64")}`;

export interface Answer {
  /** 0 if the gateway closed the connection before it had read the body, and its answer was lost with it. */
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  ms: number;
}

/**
 * True if a body was accepted, or refused as one of `count` at once: with 503, or without an answer, which is lost if the connection closes
 * before the body was read.
 */
export const isRight = (answer: Answer | undefined, count: number): boolean =>
  answer?.status === 200 || (answer?.status === 503 && answer.headers["retry-after"] !== undefined) || (answer?.status === 0 && count > 1);

/**
 * Streams a body to a URL, on its own connection.
 *
 * @param options.isChunked send it without a content length.
 * @param options.breakAfter disconnect after this many bytes: the answer is then undefined.
 */
export async function send(
  url: string,
  body: LargeBody,
  options: { headers?: Record<string, string>; isChunked?: boolean; breakAfter?: number } = {},
): Promise<Answer | undefined> {
  const start = performance.now();
  const headers = {
    "content-type": "application/json",
    ...(options.isChunked ? { "transfer-encoding": "chunked" } : { "content-length": String(body.length) }),
    ...options.headers,
  };
  const outgoing = request(url, { method: "POST", headers, agent: false });
  const { promise: answer, resolve, reject } = Promise.withResolvers<Answer | undefined>();
  const { breakAfter } = options;
  let isWhole = false;
  const broken = (error: Error) => {
    if (breakAfter !== undefined) resolve(undefined);
    else if (isWhole) reject(error);
    else resolve({ status: 0, headers: {}, text: "", ms: performance.now() - start });
  };
  outgoing.on("error", broken);
  outgoing.on("close", () => broken(new Error("the connection closed without an answer")));
  // When a body is refused, it is still being written after the answer has ended. By then the request has no listener on its socket, and the error would end this process.
  outgoing.on("socket", (socket) => socket.on("error", () => undefined));
  outgoing.on("response", (incoming) => {
    const parts: Buffer[] = [];
    incoming.on("data", (part: Buffer) => parts.push(part));
    incoming.on("error", broken);
    incoming.on("end", () => {
      const text = Buffer.concat(parts).toString();
      resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text, ms: performance.now() - start });
    });
  });
  let sent = 0;
  let isAnswered = false;
  const over = answer.then(
    () => (isAnswered = true),
    () => (isAnswered = true),
  );
  for (const piece of body.pieces()) {
    // An answer that has arrived is read before writing continues: if the gateway has closed the connection, a write fails and the answer
    // is lost.
    await new Promise<void>((done) => setImmediate(done));
    if (isAnswered) {
      // The gateway refused the body before it had read all of it.
      outgoing.destroy();
      return answer;
    }
    if (breakAfter !== undefined && sent >= breakAfter) {
      outgoing.destroy();
      return answer;
    }
    sent += piece.length;
    if (!outgoing.write(piece)) await Promise.race([over, new Promise<void>((done) => outgoing.once("drain", done))]);
  }
  isWhole = true;
  outgoing.end();
  return answer;
}

/** How ModelArk is written to and how it refuses: bodies with pictures, error bodies. */

import { faultOf, jsonOf } from "./http.ts";
import { type Failed, type InputImage, ProviderError } from "./provider.ts";

/** Optional and nullable all: nothing here is promised. */
export interface WireError {
  code?: string | null;
  param?: string | null;
}

const encoder = new TextEncoder();
const headers = { "content-type": "application/json" };

/**
 * A POST of what `bodyOf` makes of the pictures' URLs, which it must keep in their order. Inline pictures are data URIs, encoded
 * one at a time while the request is sent: five large ones at once are more than an isolate has memory for. May be made again and again.
 */
export async function postWithPictures(images: InputImage[], bodyOf: (urls: string[]) => unknown): Promise<() => RequestInit> {
  const mark = crypto.randomUUID();
  const inline: { image: InputImage; length: number }[] = [];
  const urls: string[] = [];
  for (const image of images) {
    if (image.url !== undefined) {
      urls.push(image.url);
      continue;
    }
    const { type, size } = await image.read(({ bytes, type }) => Promise.resolve({ type, size: bytes.byteLength }));
    inline.push({ image, length: Math.ceil(size / 3) * 4 });
    urls.push(`data:${type};base64,${mark}`);
  }
  const text = JSON.stringify(bodyOf(urls));
  if (inline.length === 0) return () => ({ method: "POST", headers, body: text });

  const parts = text.split(mark).map((part) => encoder.encode(part));
  const length = [...parts.map((part) => part.byteLength), ...inline.map((picture) => picture.length)].reduce((a, b) => a + b);
  return () => {
    const { readable, writable } = new FixedLengthStream(length);
    void send(writable, parts, inline);
    return { method: "POST", headers, body: readable };
  };
}

/** Never rejects: whoever reads the other end is told what went wrong. */
async function send(writable: WritableStream<Uint8Array>, parts: Uint8Array[], inline: { image: InputImage }[]): Promise<void> {
  const writer = writable.getWriter();
  try {
    for (const [at, part] of parts.entries()) {
      await writer.write(part);
      if (inline[at]) await writer.write(await inline[at].image.read(({ bytes }) => Promise.resolve(encoder.encode(bytes.toBase64()))));
    }
    await writer.close();
  } catch (error) {
    await writer.abort(error).catch(() => undefined);
  }
}

/** What an error is to the caller; undefined when it is the upstream's own matter. Codes: docs.byteplus.com/en/docs/ModelArk/1299023. */
export function failureOf(error: WireError | null | undefined): Failed | undefined {
  const code = error?.code ?? "";
  if (code.includes("SensitiveContentDetected")) return { status: "failed", code: "content_policy_violation" };
  if (code.startsWith("InvalidImageURL")) return { status: "failed", code: "invalid_input" };
  return undefined;
}

/** The refusal of a submission: a verdict on what the caller gave is returned, everything else is thrown. */
export async function refusal(response: Response, what: string, hasPictures: boolean): Promise<Failed> {
  const body = await jsonOf<WireError & { error?: WireError | null }>(response).catch(() => undefined);
  // Some refusals of images/generations come without the envelope (seen on ap-southeast, 2026-09-30).
  const error = body?.error ?? body ?? {};
  const code = typeof error.code === "string" ? error.code : "";
  if (response.status >= 400 && response.status < 500) {
    const failed = failureOf({ code });
    if (failed) return failed;
    // What we chose ourselves is told by `param`; what is left is the caller's picture.
    const isOurs = /^(ratio|duration|resolution|size|model|watermark)/.test(error.param ?? "");
    if (response.status === 400 && code.startsWith("InvalidParameter") && hasPictures && !isOurs)
      return { status: "failed", code: "invalid_input" };
  }
  const fault = faultOf(response, what);
  // The account's own allowance is used up: waiting seconds does not help.
  if (code === "QuotaExceeded") throw new ProviderError(fault.message, { retryable: false, nothingAccepted: true, account: true });
  throw fault;
}

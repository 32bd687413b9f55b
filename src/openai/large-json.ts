/** JSON bodies with large images: the images are extracted while the body is read, and inserted again one piece at a time while the submission is sent. */

import { maxImageBytes } from "../catalog/fields.ts";
import { maxDepth } from "../media/json-limits.ts";
import { JsonBodyError } from "../media/json-error.ts";
import { type ExtractedImage, readJsonSkeleton } from "../media/json-skeleton.ts";
import { NetError } from "../net/net-error.ts";
import { callersPace, pace } from "../net/pace.ts";
import { Base64 } from "./base64.ts";
import { OpenAiError, refuseField, refuseLike } from "./errors.ts";
import { type Fields, maxBodyBytes, requireJson, toObject } from "./form.ts";
import type { AppContext } from "./paths.ts";
import { sendInTurn } from "./turns.ts";

/** How such a body is converted to a submission. */
interface LargeJsonRules {
  path: string;
  headers: Record<string, string>;
  /** The field with the images; named in the error for an invalid one. */
  field: string;
  isImageAt: (path: readonly (string | number)[]) => boolean;
  /** Builds the submission from the fields, in which a placeholder replaces each image. An error that it throws becomes the answer. */
  toBody: (fields: Fields) => Promise<object>;
}

const maxSkeletonBytes = 1024 * 1024;
const maxImages = 16;
const pieceBytes = 192 * 1024;

const problems: Record<Extract<ExtractedImage, { problem: string }>["problem"], string> = {
  not_an_image_url: "bad_image",
  empty: "bad_image",
  invalid_base64: "bad_base64",
  unsupported_format: "bad_image_format",
  too_large: "image_too_large",
  too_many: "too_many_images",
};

/** Forwards a body with images as a submission. Throws the errors of the body and of the gateway. */
export function sendLargeJson(c: AppContext, { path, headers, field, isImageAt, toBody }: LargeJsonRules): Promise<Response> {
  return sendInTurn(c, async () => {
    requireJson(c, maxBodyBytes);
    const files = new Map<number, Uint8Array>();
    const store = async ({ bytes, index }: { bytes: Uint8Array; index: number }) => void files.set(index, bytes.slice());
    const limits = { maxBytes: maxBodyBytes, maxSkeletonBytes, maxImageBytes, maxImages, maxDepth };
    const { body } = c.req.raw;
    if (!body) throw refuseLike(c, 400, "invalid_json");
    const read = readJsonSkeleton(body, { ...limits, wait: pace(callersPace), isImageAt, store });
    const { value, images } = await read.catch((error: unknown) => {
      throw refuseBody(c, error);
    });
    const encoded = images.map((image) => {
      if ("problem" in image) throw refuseField(c, field, problems[image.problem], { maximum: 10 });
      return { placeholder: image.placeholder, start: `data:${image.type};base64,`, bytes: files.get(image.index) ?? new Uint8Array() };
    });
    return { path, headers, body: withImages(await toBody(toObject(c, value)), encoded) };
  });
}

function refuseBody(c: AppContext, error: unknown): unknown {
  if (error instanceof OpenAiError || !(error instanceof JsonBodyError)) return error;
  if (error.cause instanceof NetError && error.cause.reason === "timeout") return refuseLike(c, 400, "body_too_slow");
  return error.reason === "too_large" ? refuseLike(c, 413, "body_too_large") : refuseLike(c, 400, "invalid_json");
}

interface EncodedImage {
  placeholder: string;
  start: string;
  bytes: Uint8Array;
}

/** The submission's JSON, with each placeholder replaced by its image. */
function* withImages(body: object, encoded: EncodedImage[]): Generator<Uint8Array> {
  const encoder = new TextEncoder();
  let rest = JSON.stringify(body);
  const places = encoded.flatMap((image) => {
    const at = rest.indexOf(image.placeholder);
    return at < 0 ? [] : [{ at, ...image }];
  });
  let done = 0;
  for (const { at, placeholder, start, bytes } of places.sort((a, b) => a.at - b.at)) {
    yield encoder.encode(rest.slice(0, at - done) + start);
    rest = rest.slice(at - done + placeholder.length);
    done = at + placeholder.length;
    const text = new Base64();
    for (let from = 0; from < bytes.length; from += pieceBytes) yield encoder.encode(text.push(bytes.subarray(from, from + pieceBytes)));
    yield encoder.encode(text.end());
  }
  yield encoder.encode(rest);
}

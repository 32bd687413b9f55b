/** JSON bodies that may have large images: these are extracted while the body is read, and inserted again one piece at a time while the submission is sent. */

import type { AppContext } from "./context.ts";
import { imageProblems, maxImageBytes } from "../../catalog/fields.ts";
import { maxDepth } from "../../media/json-limits.ts";
import { readJsonSkeleton } from "../../media/json-skeleton.ts";
import { refuseBody, refuseField, refuseLike } from "./errors.ts";
import { arrivingPieces, type Fields, readFields, requireJson, toObject } from "./form.ts";
import { type Identify, sampleInput } from "./once.ts";
import { isLarge, maxBodyBytes, sendInTurn } from "./turns.ts";

/** How such a body is converted to a submission. */
interface JsonRules {
  path: string;
  identify: Identify;
  /** The fields that may have images; the first is named in the error for an invalid one. */
  imageFields: [string, ...string[]];
  /** Builds the submission from the fields, in which a placeholder replaces each large image. An error that it throws becomes the answer. */
  toBody: (fields: Fields) => Promise<object>;
}

const maxSkeletonBytes = 1024 * 1024;
const maxImages = 16;
/** A multiple of three, so that each piece is Base64 by itself; its text stays in the garbage collector's young generation. */
const pieceBytes = 48 * 1024;

/** Sends a JSON body as a submission. Throws the errors of the body and of the gateway. */
export async function sendJson(c: AppContext, rules: JsonRules): Promise<Response> {
  if (isLarge(c)) return sendLarge(c, rules);
  return sendBody(c, rules, await rules.toBody(await readFields(c)));
}

/** Sends a submission that is complete. Throws the errors of the gateway. */
export const sendBody = async (c: AppContext, { path, identify }: Pick<JsonRules, "path" | "identify">, body: object): Promise<Response> =>
  c.var.gateway.ask(path, { body, headers: await identify(JSON.stringify(body)) });

function sendLarge(c: AppContext, { path, identify, imageFields, toBody }: JsonRules): Promise<Response> {
  const isImageAt = ([field]: readonly (string | number)[]) => imageFields.includes(String(field));
  return sendInTurn(c, async () => {
    requireJson(c, maxBodyBytes);
    const files = new Map<number, Uint8Array<ArrayBuffer>>();
    const store = async ({ bytes, index }: { bytes: Uint8Array<ArrayBuffer>; index: number }) => void files.set(index, bytes.slice());
    const limits = { maxBytes: maxBodyBytes, maxSkeletonBytes, maxImageBytes, maxImages, maxDepth };
    const { body } = c.req.raw;
    if (!body) throw refuseLike(c, 400, "invalid_json");
    const read = readJsonSkeleton(arrivingPieces(body), { ...limits, isImageAt, store });
    const { value, images } = await read.catch((error: unknown) => {
      throw refuseBody(c, error);
    });
    const encoded = images.map((image) => {
      if ("problem" in image) throw refuseField(c, imageFields[0], imageProblems[image.problem], { maximum: 10 });
      return { placeholder: image.placeholder, start: `data:${image.type};base64,`, bytes: files.get(image.index) ?? new Uint8Array() };
    });
    const submission = await toBody(toObject(c, value));
    return { path, headers: await identify(await identifyBody(submission, encoded)), body: withImages(submission, encoded) };
  });
}

interface EncodedImage {
  placeholder: string;
  start: string;
  bytes: Uint8Array<ArrayBuffer>;
}

/** Represents a submission when repeats are matched. */
async function identifyBody(body: object, encoded: EncodedImage[]): Promise<string> {
  const text = encoded.reduce((all, { placeholder }, at) => all.replace(placeholder, `image ${at}`), JSON.stringify(body));
  return JSON.stringify([text, await Promise.all(encoded.map(({ bytes }) => sampleInput([bytes])))]);
}

/** The submission's JSON, with each placeholder replaced by its image, in pieces that are valid until the next is requested. Frees each image when it was yielded. */
function* withImages(body: object, encoded: EncodedImage[]): Generator<Uint8Array> {
  const encoder = new TextEncoder();
  const piece = new Uint8Array((pieceBytes / 3) * 4);
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
    for (let from = 0; from < bytes.length; from += pieceBytes) {
      const text = bytes.subarray(from, from + pieceBytes).toBase64();
      yield piece.subarray(0, encoder.encodeInto(text, piece).written);
    }
    // At once: the garbage collector would let the images of several bodies accumulate.
    bytes.buffer.transfer(0);
  }
  yield encoder.encode(rest);
}

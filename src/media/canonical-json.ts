/** Canonical JSON (RFC 8785), and its digest for values whose large images were extracted. */

import { sha256Hex } from "../base/ids.ts";
import { concat } from "./concat.ts";
import type { Gap, ExtractedImage } from "./json-image.ts";

/** The canonical text of a value from `JSON.parse`: names sorted by their UTF-16 code units, no white space. */
export function canonicalJson(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const record = value as Record<string, unknown>;
  const fields = Object.keys(record).sort();
  return `{${fields.map((name) => `${JSON.stringify(name)}:${canonicalJson(record[name])}`).join(",")}}`;
}

/**
 * SHA-256 (hexadecimal) of a value's canonical text with each image as it was sent. `images` maps the placeholders in the value to images;
 * `open` reads the bytes of one, each piece valid until the next is requested. Names are sorted, so the images can be hashed only when all
 * fields are known: each image is read again, one piece of one image in memory at a time. Null if the original text of an image cannot be
 * restored: it was not an image, or its white space was too irregular.
 */
export async function digestJson(
  value: unknown,
  images: Map<string, ExtractedImage>,
  open: (index: number) => Promise<AsyncIterable<Uint8Array>>,
): Promise<string | null> {
  const text = canonicalJson(value);
  const found = [...images.values()].map((image) => ({ at: text.indexOf(image.placeholder), image })).filter(({ at }) => at !== -1);
  if (found.length === 0) return sha256Hex(text);
  found.sort((a, b) => a.at - b.at);
  const digest = new crypto.DigestStream("SHA-256");
  const writer = digest.getWriter();
  const encoder = new TextEncoder();
  const add = (piece: string) => writer.write(encoder.encode(piece));
  try {
    let from = 0;
    for (const { at, image } of found) {
      if ("problem" in image || !image.layout.gaps) throw new UnknownText();
      await add(text.slice(from, at));
      for await (const piece of writtenText(await open(image.index), image.layout.start, image.layout.gaps)) await add(piece);
      from = at + image.placeholder.length;
    }
    await add(text.slice(from));
    await writer.close();
    return new Uint8Array(await digest.digest).toHex();
  } catch (error) {
    digest.digest.catch(() => undefined); // the rejected hash of an incomplete text must not be unhandled
    await writer.abort(error).catch(() => undefined);
    if (error instanceof UnknownText) return null;
    throw error;
  }
}

class UnknownText extends Error {}

/** The text of an image between its quotation marks. Its Base64 was checked strictly, so its bytes have exactly one encoding. */
async function* writtenText(bytes: AsyncIterable<Uint8Array>, start: string, gaps: Gap[]): AsyncGenerator<string, void> {
  const layOut = spacer(gaps);
  yield start + layOut("");
  let carry = new Uint8Array();
  for await (const piece of bytes) {
    const joined = concat([carry, piece]);
    const whole = joined.length - (joined.length % 3);
    carry = joined.slice(whole);
    yield layOut(joined.subarray(0, whole).toBase64());
  }
  yield layOut(carry.toBase64());
}

/** Inserts the white space into a text that arrives in pieces, escaped as in JSON. */
function spacer(gaps: Gap[]): (piece: string) => string {
  const rest = eachGap(gaps);
  let next = rest.next().value;
  let left = next?.after ?? Infinity;
  return (piece) => {
    let out = "";
    let at = 0;
    while (next && piece.length - at >= left) {
      out += piece.slice(at, at + left) + JSON.stringify(next.text).slice(1, -1);
      at += left;
      next = rest.next().value;
      left = next?.after ?? Infinity;
    }
    left -= piece.length - at;
    return out + piece.slice(at);
  };
}

function* eachGap(gaps: Gap[]): Generator<Gap, undefined> {
  for (const gap of gaps) for (let time = 0; time < gap.times; time++) yield gap;
}

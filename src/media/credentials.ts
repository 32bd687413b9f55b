/**
 * Finds a C2PA manifest in an image or MP4 file while its bytes pass by. C2PA 2.2, appendix A ("Embedding manifests into assets"): the
 * manifest is a JUMBF superbox in a PNG chunk `caBX`, in JPEG segments APP11, in a WebP chunk `C2PA` or in an MP4 box `uuid`. Its
 * signature is not checked.
 */

import { fourLetters, toDataView } from "./iso-boxes.ts";

/** Whether a file carries a manifest. */
export interface CredentialReader {
  /** Reads the file's next bytes; they need to be valid only during the call. Never throws. */
  push(bytes: Uint8Array): void;
  /** True once a manifest was seen. */
  readonly found: boolean;
  /** Where the manifest begins, and how long it says it is. In a JPEG the heads of segments come between its parts. */
  readonly place: { start: number; length: number } | undefined;
}

/** What a parser asks for next: that many bytes at once (at most `maxTaken`), or that many skipped. */
type Need = { take: number } | { skip: number };
type Parser = Generator<Need, boolean, Uint8Array>;

/** The maximum bytes that a parser takes at once, and all that a reader keeps in memory: the head of an MP4's box, up to its purpose. */
const maxTaken = 64;
/** A file with more chunks, segments or boxes is not read to its end: each costs time, however short it is. A PNG of 512 MB in chunks of 8 KB has fewer. */
const maxParts = 100_000;

/** Returns a reader for a file of this media type; for other types it finds nothing. */
export function credentialReader(type: string): CredentialReader {
  const parser = parsers[type]?.();
  const held = new Uint8Array(maxTaken);
  let heldBytes = 0;
  let passed = 0;
  let place: CredentialReader["place"];
  let need = parser ? next(parser.next()) : undefined;

  function next({ done, value }: IteratorResult<Need, boolean>): Need | undefined {
    if (!done) return value;
    // A parser ends with the head of the manifest as the last bytes that it took.
    if (value) place = { start: passed - manifestHead, length: toDataView(held).getUint32(0) };
    return undefined;
  }

  return {
    get found() {
      return place !== undefined;
    },
    get place() {
      return place;
    },
    push(bytes) {
      for (let at = 0; need && at < bytes.length;) {
        if ("skip" in need) {
          const skipped = Math.min(need.skip, bytes.length - at);
          at += skipped;
          passed += skipped;
          need = need.skip > skipped ? { skip: need.skip - skipped } : next(parser!.next(held));
          continue;
        }
        const part = bytes.subarray(at, at + need.take - heldBytes);
        held.set(part, heldBytes);
        heldBytes += part.length;
        at += part.length;
        passed += part.length;
        if (heldBytes < need.take) return;
        heldBytes = 0;
        need = next(parser!.next(held.subarray(0, need.take)));
      }
    },
  };
}

/** The parsers return whether a manifest was found, and end early in bytes that are not of their format. */
const parsers: Record<string, () => Parser> = {
  "image/png": png,
  "image/jpeg": jpeg,
  "image/webp": webp,
  "video/mp4": mp4,
};

/** Asks for bytes, and skips none when the number is zero: a parser is never asked to go on without progress. */
const take = function* (count: number): Generator<Need, Uint8Array, Uint8Array> {
  return yield { take: count };
};
const skip = function* (count: number): Generator<Need, void, Uint8Array> {
  if (count > 0) yield { skip: count };
};

/** The length of what `isManifest` looks at. */
const manifestHead = 32;
const c2paUuid = "63327061-0011-0010-8000-00aa00389b71";

/** True if a JUMBF superbox begins here whose description box has C2PA's type (ISO/IEC 19566-5; C2PA 2.2, 11.1.4.2). */
const isManifest = (head: Uint8Array) =>
  fourLetters(head, 4) === "jumb" && fourLetters(head, 12) === "jumd" && isUuid(head.subarray(16), c2paUuid);

/** Not by `toHex`, which Node and older browsers lack. */
const isUuid = (bytes: Uint8Array, uuid: string) =>
  uuid
    .replaceAll("-", "")
    .match(/../g)!
    .every((pair, at) => bytes[at] === Number.parseInt(pair, 16));

/** Reads the first bytes of a part that is `length` long; returns whether it is a manifest, and skips the rest if not. */
function* manifestIn(length: number): Parser {
  if (length < manifestHead) {
    yield* skip(length);
    return false;
  }
  if (isManifest(yield* take(manifestHead))) return true;
  yield* skip(length - manifestHead);
  return false;
}

/** PNG: a signature, then chunks of length, type, data, checksum. */
function* png(): Parser {
  yield* skip(8);
  for (let parts = 0; parts < maxParts; parts++) {
    const head = yield* take(8);
    const length = toDataView(head).getUint32(0);
    const type = fourLetters(head, 4);
    if (type === "IEND") return false;
    if (type === "caBX" && (yield* manifestIn(length))) return true;
    yield* skip(type === "caBX" ? 4 : length + 4);
  }
  return false;
}

/** JPEG: segments of a marker and a length, up to the start of the scan. A manifest may continue in several segments; the first has its head. */
function* jpeg(): Parser {
  yield* skip(2);
  for (let parts = 0; parts < maxParts; parts++) {
    let [first, marker] = yield* take(2);
    if (first !== 0xff) return false;
    // Any number of 0xff may stand before a marker.
    while (marker === 0xff && parts++ < maxParts) [marker] = yield* take(1);
    if (marker === 0xda || marker === 0xd9 || marker === undefined) return false;
    if (marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7)) continue; // markers without a length
    const length = toDataView(yield* take(2)).getUint16(0) - 2;
    if (length < 0) return false;
    // Common identifier `JP`, box instance number, packet sequence number, then the box (ISO/IEC 19566-5, D.2).
    const isApp11 = marker === 0xeb && length >= 8 + manifestHead;
    if (!isApp11) {
      yield* skip(length);
      continue;
    }
    const head = yield* take(8);
    const isFirstPacket = head[0] === 0x4a && head[1] === 0x50 && toDataView(head).getUint32(4) === 1;
    if (!isFirstPacket) yield* skip(length - 8);
    else if (yield* manifestIn(length - 8)) return true;
  }
  return false;
}

/** WebP: `RIFF`, a size, `WEBP`, then chunks of type and length (little-endian), padded to an even length. */
function* webp(): Parser {
  yield* skip(12);
  for (let parts = 0; parts < maxParts; parts++) {
    const head = yield* take(8);
    const length = toDataView(head).getUint32(4, true);
    const isNamed = fourLetters(head, 0) === "C2PA";
    if (isNamed && (yield* manifestIn(length))) return true;
    yield* skip((isNamed ? 0 : length) + (length % 2));
  }
  return false;
}

/** The id of C2PA's `uuid` box, and what such a box may be for; `merkle` boxes hold digests of fragments and no manifest. */
const boxUuid = "d8fec3d6-1b0e-483c-9297-5828877ec481";
const purposes = new Set(["manifest", "original", "update"]);

/** MP4: top-level boxes (ISO/IEC 14496-12, 4.2). C2PA's box is a full box with a purpose, an offset of eight bytes, and the manifest. */
function* mp4(): Parser {
  for (let parts = 0; parts < maxParts; parts++) {
    const head = yield* take(8);
    const type = fourLetters(head, 4);
    let length = toDataView(head).getUint32(0) - 8;
    if (length === -7) length = Number(toDataView(yield* take(8)).getBigUint64(0)) - 16;
    else if (length === -8) length = Infinity; // to the end of the file
    if (length < 0) return false;
    if (type !== "uuid" || length < 20 + 18 + manifestHead) {
      yield* skip(length);
      continue;
    }
    if (!isUuid(yield* take(16), boxUuid)) {
      yield* skip(length - 16);
      continue;
    }
    // Version and flags, the purpose up to its zero, an offset: the longest purpose fits into what every manifest has.
    let rest = length - 20;
    yield* skip(4);
    let purpose = "";
    for (let byte = -1; byte !== 0 && purpose.length <= 8; rest--) {
      [byte = 0] = yield* take(1);
      if (byte !== 0) purpose += String.fromCharCode(byte);
    }
    if (!purposes.has(purpose)) {
      yield* skip(rest);
      continue;
    }
    yield* skip(8);
    if (yield* manifestIn(rest - 8)) return true;
  }
  return false;
}

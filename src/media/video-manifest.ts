/**
 * Computes the hash that the C2PA manifest of an MP4 is bound to while the file's bytes pass, and makes the box that is placed behind the
 * last one: no offset in the file changes, so that a file can be signed while it is stored.
 */

import type { FileBinding } from "./file-binding.ts";
import { boxAt, toDataView } from "./iso-boxes.ts";

/** The id of C2PA's `uuid` box (C2PA 2.2, A.5.1). */
const boxUuid = Uint8Array.of(0xd8, 0xfe, 0xc3, 0xd6, 0x1b, 0x0e, 0x48, 0x3c, 0x92, 0x97, 0x58, 0x28, 0x87, 0x7e, 0xc4, 0x81);
/** Boxes that no hash includes (C2PA 2.2, A.5.5); others of the type `uuid` are hashed. */
const excluded = new Set(["ftyp", "mfra"]);
const maxHeadBytes = 16;
/** A video has some ten boxes, a fragmented one two for each second or so; each costs time. */
const maxBoxes = 100_000;

/** The hash of top-level boxes, each behind its offset as eight bytes, without the excluded ones (C2PA 2.2, 18.7). */
export class VideoHash {
  readonly #digest = new crypto.DigestStream("SHA-256");
  readonly #hash = this.#digest.getWriter();
  /** The beginning of a box whose head is not complete yet. */
  readonly #head = new Uint8Array(maxHeadBytes);
  #headBytes = 0;
  /** Where the next bytes, and the next box, begin in the file. */
  #position = 0;
  #next = 0;
  #isHashed = false;
  #boxes = 0;
  #isOdd = false;

  constructor() {
    // Read in `end`, or never if the file is not stored.
    this.#digest.digest.catch(() => undefined);
  }

  /** The file's next bytes; they need to be valid only during the call. */
  async push(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length && !this.#isOdd;) {
      if (this.#position < this.#next) {
        const part = bytes.subarray(at, at + this.#next - this.#position);
        if (this.#isHashed) await this.#hash.write(part);
        this.#position += part.length;
        at += part.length;
        continue;
      }
      this.#head[this.#headBytes++] = bytes[at++]!;
      if (this.#headBytes >= 8) await this.#begin();
    }
  }

  /** The binding of the file that has ended; undefined if it does not consist of whole boxes of known lengths. */
  async end(): Promise<(FileBinding & { kind: "bmff" }) | undefined> {
    if (this.#isOdd || this.#headBytes > 0 || this.#position !== this.#next || this.#boxes === 0) {
      await this.abort();
      return undefined;
    }
    await this.#hash.close();
    return { kind: "bmff", hash: new Uint8Array(await this.#digest.digest), uuid: boxUuid };
  }

  async abort(): Promise<void> {
    await this.#hash.abort().catch(() => undefined);
  }

  /** Begins a box if its head is complete. A box that reaches to the end of the file (length 0) would include the manifest behind it. */
  async #begin(): Promise<void> {
    const head = this.#head.subarray(0, this.#headBytes);
    const shortLength = toDataView(head).getUint32(0);
    if (shortLength === 1 && head.length < maxHeadBytes) return;
    const box = boxAt(head, 0, Number.MAX_SAFE_INTEGER);
    this.#isOdd = !box || shortLength === 0 || ++this.#boxes > maxBoxes || (this.#boxes === 1 && box.type !== "ftyp");
    if (!box || this.#isOdd) return;
    this.#isHashed = !excluded.has(box.type);
    if (this.#isHashed) {
      const marker = new Uint8Array(8);
      toDataView(marker).setBigUint64(0, BigInt(this.#position));
      await this.#hash.write(marker);
      await this.#hash.write(head);
    }
    this.#next = this.#position + box.end;
    this.#position += head.length;
    this.#headBytes = 0;
  }
}

/** The box with the manifest: a full box of the type `uuid` with its purpose and the offset of a Merkle box, which there is none of. */
export function manifestBox(manifest: Uint8Array): Uint8Array {
  const purpose = new TextEncoder().encode("manifest\0");
  const start = 8 + 16 + 4 + purpose.length + 8;
  const box = new Uint8Array(start + manifest.length);
  toDataView(box).setUint32(0, box.length);
  box.set(new TextEncoder().encode("uuid"), 4);
  box.set(boxUuid, 8);
  box.set(purpose, 28);
  box.set(manifest, start);
  return box;
}

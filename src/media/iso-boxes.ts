/** Walks the boxes of an ISO base media file (MP4) in untrusted bytes: each step moves forward and stays inside the bytes. */

export interface Box {
  type: string;
  /** Offsets of its contents and of its end, in the same count as the given offset. */
  body: number;
  end: number;
}

/**
 * The box whose header stands at `offset` (ISO/IEC 14496-12, 4.2): 32 bits of size and four letters, with size 1 followed by 64 bits of
 * size, with size 0 reaching to the end of what encloses it.
 *
 * @param limit where the enclosing box or file ends; may lie behind the bytes at hand.
 * @returns undefined when the header is cut off, the size is smaller than the header, or the box is longer than what encloses it.
 */
export function boxAt(bytes: Uint8Array, offset: number, limit: number): Box | undefined {
  if (offset + 8 > bytes.length) return undefined;
  const view = toDataView(bytes);
  const shortSize = view.getUint32(offset);
  const body = offset + (shortSize === 1 ? 16 : 8);
  if (body > bytes.length) return undefined;
  const size = shortSize === 1 ? Number(view.getBigUint64(offset + 8)) : shortSize;
  const end = shortSize === 0 ? limit : offset + size;
  if (end < body || end > limit) return undefined;
  return { type: fourLetters(bytes, offset + 4), body, end };
}

/** The boxes that follow one another in `bytes`, up to the first that is malformed. */
export function* boxesIn(bytes: Uint8Array): Generator<{ type: string; body: Uint8Array }> {
  for (let offset = 0; offset < bytes.length;) {
    const box = boxAt(bytes, offset, bytes.length);
    if (!box) return;
    yield { type: box.type, body: bytes.subarray(box.body, box.end) };
    offset = box.end;
  }
}

/** The contents of the first box of that type among those directly in `bytes`. */
export function findBox(bytes: Uint8Array, type: string): Uint8Array | undefined {
  for (const box of boxesIn(bytes)) if (box.type === type) return box.body;
  return undefined;
}

/** The four letters of a box type or track type. */
export const fourLetters = (bytes: Uint8Array, offset: number) => String.fromCharCode(...bytes.subarray(offset, offset + 4));

/** A DataView of the bytes; reads behind their end throw a RangeError. */
export const toDataView = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

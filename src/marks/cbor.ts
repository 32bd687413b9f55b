/** Encodes CBOR (RFC 8949) in definite lengths, the shortest heads, and the given order of keys: what manifests and their signatures consist of. */

import { concat } from "../media/concat.ts";

/** A tagged value: 0 is a date and time as text, 18 a COSE signature. */
export class Tagged {
  readonly tag: number;
  readonly value: Cbor;

  constructor(tag: number, value: Cbor) {
    this.tag = tag;
    this.value = value;
  }
}

/** Numbers are integers. */
export type Cbor = number | string | boolean | null | Uint8Array | Tagged | Cbor[] | Map<number | string, Cbor> | { [name: string]: Cbor };

const text = new TextEncoder();

export function encodeCbor(value: Cbor): Uint8Array<ArrayBuffer> {
  const parts: Uint8Array[] = [];
  write(value, parts);
  return concat(parts);
}

function write(value: Cbor, to: Uint8Array[]): void {
  if (value === null) to.push(Uint8Array.of(0xf6));
  else if (typeof value === "boolean") to.push(Uint8Array.of(value ? 0xf5 : 0xf4));
  else if (typeof value === "number") to.push(value < 0 ? head(1, -1 - value) : head(0, value));
  else if (typeof value === "string") writeBytes(3, text.encode(value), to);
  else if (value instanceof Uint8Array) writeBytes(2, value, to);
  else if (value instanceof Tagged) {
    to.push(head(6, value.tag));
    write(value.value, to);
  } else if (Array.isArray(value)) {
    to.push(head(4, value.length));
    for (const item of value) write(item, to);
  } else {
    const entries = value instanceof Map ? [...value] : Object.entries(value);
    to.push(head(5, entries.length));
    for (const [name, item] of entries) {
      write(name, to);
      write(item, to);
    }
  }
}

function writeBytes(major: number, bytes: Uint8Array, to: Uint8Array[]): void {
  to.push(head(major, bytes.length), bytes);
}

/** A major type and its argument (RFC 8949, 3). */
function head(major: number, argument: number): Uint8Array {
  const first = major << 5;
  if (argument < 24) return Uint8Array.of(first | argument);
  const [marker, size] = argument < 0x100 ? [24, 1] : argument < 0x1_0000 ? [25, 2] : argument < 0x1_0000_0000 ? [26, 4] : [27, 8];
  const bytes = new Uint8Array(9);
  new DataView(bytes.buffer).setBigUint64(1, BigInt(argument));
  bytes[8 - size] = first | marker;
  return bytes.subarray(8 - size);
}

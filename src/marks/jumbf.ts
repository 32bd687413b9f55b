/** Writes JUMBF boxes (ISO/IEC 19566-5) of the kinds that a C2PA manifest store consists of. */

import { concat } from "../media/concat.ts";
import { type Cbor, encodeCbor } from "./cbor.ts";

/** The first four letters of a box's type; the rest is the same for all (C2PA 2.2, 11.1.4). */
type Kind = "c2pa" | "c2ma" | "c2as" | "c2cl" | "c2cs" | "cbor";
const restOfType = Uint8Array.of(0x00, 0x11, 0x00, 0x10, 0x80, 0x00, 0x00, 0xaa, 0x00, 0x38, 0x9b, 0x71);
/** "Requestable", and with a label. */
const labelled = 3;

const text = new TextEncoder();

/** The contents of a superbox: its description, then its boxes. Hashes of assertions are computed over these bytes, without the box's head. */
export const describe = (kind: Kind, label: string, ...contents: Uint8Array[]): Uint8Array<ArrayBuffer> =>
  concat([box("jumd", text.encode(kind), restOfType, Uint8Array.of(labelled), text.encode(`${label}\0`)), ...contents]);

export const superbox = (contents: Uint8Array): Uint8Array<ArrayBuffer> => box("jumb", contents);

export const cborBox = (value: Cbor): Uint8Array<ArrayBuffer> => encodedBox(encodeCbor(value));

/** A box of bytes that are CBOR already. */
export const encodedBox = (bytes: Uint8Array): Uint8Array<ArrayBuffer> => box("cbor", bytes);

function box(type: string, ...contents: Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = concat([new Uint8Array(4), text.encode(type), ...contents]);
  new DataView(whole.buffer).setUint32(0, whole.length);
  return whole;
}

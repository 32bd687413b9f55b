/** Videos for tests: the head of a real file, and functions that change its boxes. */

import { boxesIn } from "../../src/media/iso-boxes.ts";

/** `ftyp` and `moov` as ffmpeg wrote them: 64x36 pixels (H.264), 1.2 seconds, sound (AAC). The frames are left out. */
export const videoHead = Uint8Array.fromBase64(
  [
    "AAAAIGZ0eXBpc29tAAACAGlzb21pc28yYXZjMW1wNDEAAAXtbW9vdgAAAGxtdmhkAAAAAAAAAAAAAAAAAAAD6AAABLAAAQAAAQAAAAAAAAAAAAAAAAEAAAAA",
    "AAAAAAAAAAAAAAABAAAAAAAAAAAAAAAAAABAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAwAAAqN0cmFrAAAAXHRraGQAAAADAAAAAAAAAAAAAAAB",
    "AAAAAAAABLAAAAAAAAAAAAAAAAAAAAAAAAEAAAAAAAAAAAAAAAAAAAABAAAAAAAAAAAAAAAAAABAAAAAAEAAAAAkAAAAAAAkZWR0cwAAABxlbHN0AAAAAAAA",
    "AAEAAASwAAAQAAABAAAAAAIbbWRpYQAAACBtZGhkAAAAAAAAAAAAAAAAAAAoAAAAMABVxAAAAAAALWhkbHIAAAAAAAAAAHZpZGUAAAAAAAAAAAAAAABWaWRl",
    "b0hhbmRsZXIAAAABxm1pbmYAAAAUdm1oZAAAAAEAAAAAAAAAAAAAACRkaW5mAAAAHGRyZWYAAAAAAAAAAQAAAAx1cmwgAAAAAQAAAYZzdGJsAAAAwnN0c2QA",
    "AAAAAAAAAQAAALJhdmMxAAAAAAAAAAEAAAAAAAAAAAAAAAAAAAAAAEAAJABIAAAASAAAAAAAAAABDExhdmMgbGlieDI2NAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    "GP//AAAAOGF2Y0MBZAAK/+EAGmdkAAqscgREf58BEAAAAwAQAAADAKDxIlhGAQAHaOhDgZSyLP34+AAAAAAQcGFzcAAAAAEAAAABAAAAFGJ0cnQAAAAAAAAZ",
    "wQAAGcEAAAAYc3R0cwAAAAAAAAABAAAABgAACAAAAAAUc3RzcwAAAAAAAAABAAAAAQAAABhjdHRzAAAAAAAAAAEAAAAGAAAQAAAAAChzdHNjAAAAAAAAAAIA",
    "AAABAAAAAgAAAAEAAAACAAAAAQAAAAEAAAAsc3RzegAAAAAAAAAAAAAABgAAA2MAAAAOAAAAHAAAABsAAAAdAAAAGAAAACRzdGNvAAAAAAAAAAUAAAYdAAAK",
    "bAAAC+QAAAzIAAANSwAAApl0cmFrAAAAXHRraGQAAAADAAAAAAAAAAAAAAACAAAAAAAABLAAAAAAAAAAAAAAAAEBAAAAAAEAAAAAAAAAAAAAAAAAAAABAAAA",
    "AAAAAAAAAAAAAABAAAAAAAAAAAAAAAAAAAAkZWR0cwAAABxlbHN0AAAAAAAAAAEAAASwAAAEAAABAAAAAAIRbWRpYQAAACBtZGhkAAAAAAAAAAAAAAAAAAAf",
    "QAAAKYBVxAAAAAAALWhkbHIAAAAAAAAAAHNvdW4AAAAAAAAAAAAAAABTb3VuZEhhbmRsZXIAAAABvG1pbmYAAAAQc21oZAAAAAAAAAAAAAAAJGRpbmYAAAAc",
    "ZHJlZgAAAAAAAAABAAAADHVybCAAAAABAAABgHN0YmwAAAB+c3RzZAAAAAAAAAABAAAAbm1wNGEAAAAAAAAAAQAAAAAAAAAAAAIAEAAAAAAfQAAAAAAANmVz",
    "ZHMAAAAAA4CAgCUAAgAEgICAF0AVAAAAAAAhiAAAIYgFgICABRWIVuUABoCAgAECAAAAFGJ0cnQAAAAAAAAhiAAAIYgAAAAgc3R0cwAAAAAAAAACAAAACgAA",
    "BAAAAAABAAABgAAAAEBzdHNjAAAAAAAAAAQAAAABAAAAAQAAAAEAAAACAAAAAgAAAAEAAAAEAAAAAQAAAAEAAAAFAAAABQAAAAEAAABAc3RzegAAAAAAAAAA",
    "AAAACwAAAN4AAADhAAAAewAAAGQAAABlAAAAZgAAAGIAAABhAAAAkAAAANAAAAAFAAAAJHN0Y28AAAAAAAAABQAACY4AAAqIAAAL/wAADOUAAA1jAAAAGnNn",
    "cGQBAAAAcm9sbAAAAAIAAAAB//8AAAAcc2JncAAAAAByb2xsAAAAAQAAAAsAAAABAAAAPXVkdGEAAAA1bWV0YQAAAAAAAAAhaGRscgAAAAAAAAAAbWRpcmFw",
    "cGwAAAAAAAAAAAAAAAAIaWxzdA==",
  ].join(""),
);

type Bytes = Uint8Array | readonly number[];

export const join = (...parts: Bytes[]) => Uint8Array.from(parts.flatMap((part) => Array.from(part)));

/** A 32-bit number. */
export const word = (value: number) => [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255];

export const letters = (text: string) => Array.from(text, (letter) => letter.charCodeAt(0));

export const box = (type: string, ...parts: Bytes[]) => {
  const body = join(...parts);
  return join(word(8 + body.length), letters(type), body);
};

/** The same boxes, each changed by the function at its path: `moov/trak/tkhd`. */
export function change(
  bytes: Uint8Array,
  changes: Record<string, (body: Uint8Array<ArrayBuffer>) => Bytes | undefined>,
  path = "",
): Uint8Array<ArrayBuffer> {
  const parts = Array.from(boxesIn(bytes), ({ type, body }) => {
    const here = path + type;
    const inside = Object.keys(changes).some((key) => key.startsWith(`${here}/`)) ? change(body, changes, `${here}/`) : body.slice();
    const changed = here in changes ? changes[here]?.(inside) : inside;
    return changed ? box(type, changed) : [];
  });
  return join(...parts);
}

/** Sets the 32-bit number at `offset` of a box's contents. */
export const set = (offset: number, value: number) => (body: Uint8Array<ArrayBuffer>) => {
  new DataView(body.buffer).setUint32(offset, value);
  return body;
};

/** Sets the times inside an MP4 file: the library writes the current time, so that two files of the same video would differ. */

const FROM_1904_TO_1970_S = 2_082_844_800;
const CONTAINERS = new Set(["moov", "trak", "mdia"]);
const TIMED = new Set(["mvhd", "tkhd", "mdhd"]);

/** Writes `atMs`, milliseconds since 1970, as creation and modification time into every header of a video, in place. */
export function stampVideo(bytes: Uint8Array<ArrayBuffer>, atMs: number): void {
  stampBoxes(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), Math.floor(atMs / 1000) + FROM_1904_TO_1970_S);
}

function stampBoxes(view: DataView, time: number): void {
  for (let at = 0; at + 8 <= view.byteLength;) {
    // Size 1 means a 64-bit size and 0 the rest of the file: both occur only for the media data, after which there is no header.
    const size = view.getUint32(at);
    if (size < 8) return;
    const type = String.fromCharCode(...Array.from({ length: 4 }, (_, index) => view.getUint8(at + 4 + index)));
    const content = new DataView(view.buffer, view.byteOffset + at + 8, Math.min(size, view.byteLength - at) - 8);
    if (CONTAINERS.has(type)) stampBoxes(content, time);
    if (TIMED.has(type)) stampHeader(content, time);
    at += size;
  }
}

/** A header begins with its version and three bytes of flags, then come the two times, 64 bits each in version 1. */
function stampHeader(header: DataView, time: number): void {
  const wide = header.getUint8(0) === 1;
  for (const place of [0, 1]) {
    if (wide) header.setBigUint64(4 + place * 8, BigInt(time));
    else header.setUint32(4 + place * 4, time);
  }
}

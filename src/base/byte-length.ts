/** Counts the bytes of texts. */

const isHigh = (unit: number) => unit >= 0xd800 && unit < 0xdc00;
const isLow = (unit: number) => unit >= 0xdc00 && unit < 0xe000;

/** The bytes of a text in UTF-8, as `TextEncoder` writes it. For texts of a few hundred characters this is faster than an encoder. */
export function byteLength(text: string): number {
  let bytes = text.length;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit < 0x80) continue;
    bytes += unit < 0x800 ? 1 : 2;
    // The four bytes of a pair are those of its two units and the two just added.
    if (isHigh(unit) && isLow(text.charCodeAt(at + 1))) at++;
  }
  return bytes;
}

/** The glyphs: GNU Unifont's bitmaps, as packed by `scripts/sandbox-data/glyphs.ts`. */

/** The height of every glyph in pixels. */
export const GLYPH_HEIGHT = 16;
const CODE_POINTS = 0x20000;
const REPLACEMENT = 0xfffd;

export interface Glyph {
  /** 8 or 16 pixels. */
  width: number;
  /** 1 inside the glyph's strokes, else 0, also outside of the cell. */
  at(x: number, y: number): number;
}

export interface Font {
  /** The glyph of a code point; code points without one share the replacement character's. */
  glyph(codePoint: number): Glyph;
}

/** Unpacks the gzipped glyphs: about 2 MB of memory. */
export async function unpackFont(packed: ArrayBuffer): Promise<Font> {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  // The layout: a table with each code point's number of 8-pixel columns, then all columns, 16 bytes each.
  const offsets = new Uint32Array(CODE_POINTS);
  let offset = CODE_POINTS;
  for (let code = 0; code < CODE_POINTS; code++) {
    offsets[code] = offset;
    offset += (bytes[code] ?? 0) * GLYPH_HEIGHT;
  }
  return {
    glyph(codePoint) {
      const code = codePoint < CODE_POINTS && bytes[codePoint] ? codePoint : REPLACEMENT;
      const start = offsets[code] ?? 0;
      const width = (bytes[code] ?? 1) * 8;
      return {
        width,
        at(x, y) {
          if (x < 0 || y < 0 || x >= width || y >= GLYPH_HEIGHT) return 0;
          const column = bytes[start + (x >> 3) * GLYPH_HEIGHT + y] ?? 0;
          return (column >> (7 - (x & 7))) & 1;
        },
      };
    },
  };
}

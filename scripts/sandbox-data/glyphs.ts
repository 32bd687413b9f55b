/**
 * Makes `src/sandbox/data/glyphs.gz` from GNU Unifont: the whole Basic Multilingual Plane and the emoji. Run by hand; needs ffmpeg.
 *
 *   apt-get install ffmpeg unifont fonts-unifont
 *   node scripts/sandbox-data/glyphs.ts
 *
 * The file, gzipped: 0x20000 bytes, for each code point 0 (no glyph), 1 (8 pixels wide) or 2 (16 wide), and then the glyphs in the order of
 * their code points, 16 bytes for each 8-pixel column from top to bottom, the highest bit leftmost. Columns apart compress a tenth better
 * than rows.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const HEX = "/usr/share/unifont/unifont.hex";
const UPPER = "/usr/share/fonts/opentype/unifont/unifont_upper.otf";
const TARGET = fileURLToPath(new URL("../../src/sandbox/data/glyphs.gz", import.meta.url));
const CODE_POINTS = 0x20000;
const CELL = 16;

const glyphs = new Map<number, Uint8Array>();

for (const line of readFileSync(HEX, "utf8").trim().split("\n")) {
  const [code = "", hex = ""] = line.split(":");
  glyphs.set(parseInt(code, 16), columns(Buffer.from(hex, "hex")));
}

// The emoji exist only as outlines of the same bitmaps: drawn at 16 pixels they give the bitmaps.
const emoji = Array.from({ length: 0x1fb00 - 0x1f000 }, (_, index) => 0x1f000 + index).filter((code) =>
  /\p{Emoji}/u.test(String.fromCodePoint(code)),
);
const UNASSIGNED = 0x1fffe;
const drawn = drawCells([UNASSIGNED, ...emoji]);
const missing = drawn[0]?.toString("hex");
for (const [index, code] of emoji.entries()) {
  const rows = drawn[index + 1];
  if (rows && rows.toString("hex") !== missing) glyphs.set(code, columns(rows));
}

const table = new Uint8Array(CODE_POINTS);
for (const [code, bytes] of glyphs) table[code] = bytes.length / CELL;
const ordered = [...glyphs].sort(([a], [b]) => a - b).map(([, bytes]) => bytes);
const packed = gzipSync(Buffer.concat([table, ...ordered]), { level: 9 });
writeFileSync(TARGET, packed);
console.log(`${glyphs.size} glyphs, ${packed.length} bytes`);

/** Turns rows of one or two bytes into columns of 16 bytes. */
function columns(rows: Uint8Array): Uint8Array {
  const wide = rows.length / CELL;
  return Uint8Array.from(rows, (_, index) => rows[(index % CELL) * wide + Math.floor(index / CELL)] ?? 0);
}

/** Draws each code point into a cell of 16 by 16 and returns the rows, two bytes each. */
function drawCells(codes: number[]): Buffer[] {
  const text = join(mkdtempSync(join(tmpdir(), "glyphs-")), "cell.txt");
  const perRun = 64;
  const cells: Buffer[] = [];
  for (let first = 0; first < codes.length; first += perRun) {
    const run = codes.slice(first, first + perRun);
    writeFileSync(text, run.map((code) => String.fromCodePoint(code)).join(""));
    const width = CELL * perRun;
    const filter = `drawtext=fontfile=${UPPER}:textfile=${text}:fontsize=${CELL}:fontcolor=white:x=0:y=14-max_glyph_a`;
    const source = ["-f", "lavfi", "-i", `color=black:size=${width}x${CELL}:r=1`];
    const raw = execFileSync("ffmpeg", [
      "-v",
      "error",
      ...source,
      "-vf",
      filter,
      "-frames:v",
      "1",
      "-pix_fmt",
      "gray",
      "-f",
      "rawvideo",
      "-",
    ]);
    for (const index of run.keys()) {
      const rows = Buffer.alloc(CELL * 2);
      for (let y = 0; y < CELL; y++) {
        for (let x = 0; x < CELL; x++) {
          const byte = y * 2 + (x >> 3);
          if ((raw[y * width + index * CELL + x] ?? 0) > 127) rows[byte] = (rows[byte] ?? 0) | (0x80 >> (x & 7));
        }
      }
      cells.push(rows);
    }
  }
  return cells;
}

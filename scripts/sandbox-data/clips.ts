/**
 * Makes the video clips in `src/sandbox/data`: for each ratio and short side two seconds that loop without a seam, and one loop of sound;
 * and the film of the landing page, the largest landscape clip without the word "sandbox". Run by hand; needs ffmpeg with libx264.
 *
 *   node scripts/sandbox-data/clips.ts [name, e.g. 16x9-720, tone or landing]
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { BufferTarget, EncodedAudioPacketSource, EncodedPacketSink, FilePathSource, Input, MP4, Mp4OutputFormat, Output } from "mediabunny";
import { createCanvas, type Canvas } from "../../src/sandbox/drawing/canvas.ts";
import { unpackFont } from "../../src/sandbox/drawing/glyphs.ts";
import { choosePalette, type Palette } from "../../src/sandbox/drawing/palette.ts";
import { drawWords } from "../../src/sandbox/drawing/image.ts";
import { randomFrom } from "../../src/sandbox/drawing/random.ts";
import { ridges } from "../../src/sandbox/drawing/scenes.ts";
import { FRAME_RATE, videoSize, VIDEO_SIZES } from "../../src/sandbox/sizes.ts";

const DATA = fileURLToPath(new URL("../../src/sandbox/data/", import.meta.url));
const LANDING = fileURLToPath(new URL("../../src/console/site/media/hills.mp4", import.meta.url));
const LOOP_S = 2;
const only = process.argv[2];

const packed = readFileSync(`${DATA}glyphs.gz`);
const font = await unpackFont(packed.buffer.slice(packed.byteOffset, packed.byteOffset + packed.byteLength));

for (const { ratio, shortSide } of VIDEO_SIZES) {
  const name = `${ratio.replace(":", "x")}-${shortSide}`;
  if (only === undefined || only === name) await makeClip(name, ratio, shortSide, `${DATA}${name}.mp4`, ["sandbox"]);
}
if (only === undefined || only === "landing") await makeClip("16x9-1080", "16:9", 1080, LANDING, []);
if (only === undefined || only === "tone") await makeTone();

async function makeClip(name: string, ratio: string, shortSide: number, path: string, words: string[]): Promise<void> {
  const size = videoSize(ratio, shortSide);
  if (!size) throw new Error(`no such video: ${name}`);
  const encoder = spawn(
    "ffmpeg",
    `-v error -y -f rawvideo -pix_fmt rgb24 -s ${size.width}x${size.height} -r ${FRAME_RATE} -i -
     -vf scale=out_color_matrix=bt709:out_range=tv -pix_fmt yuv420p -colorspace bt709 -color_primaries bt709 -color_trc bt709 -color_range tv
     -c:v libx264 -profile:v main -preset veryslow -tune animation -bf 0 -refs 2 -g 999 -crf 31 -map_metadata -1 -fflags +bitexact
     -movflags +faststart ${path}`.split(/\s+/),
    { stdio: ["pipe", "inherit", "inherit"] },
  );
  const closed = waitForEnd(encoder);
  const frames = LOOP_S * FRAME_RATE;
  for (let frame = 0; frame < frames; frame++) {
    // The same seed for every frame: only the phase changes.
    const random = await randomFrom(["film", name]);
    const palette = choosePalette(random);
    const canvas = createCanvas(size.width, size.height);
    ridges(canvas, random, frame / frames);
    drawWords(canvas, font, words);
    if (!encoder.stdin.write(toRgb(canvas, palette))) await once(encoder.stdin, "drain");
  }
  encoder.stdin.end();
  await closed;
  console.log(name, size, statSync(path).size);
}

/** Waits for the end of ffmpeg; throws when it failed. */
async function waitForEnd(encoder: ChildProcess): Promise<void> {
  await once(encoder, "close");
  if (encoder.exitCode !== 0) throw new Error(`ffmpeg ended with exit code ${encoder.exitCode}`);
}

function toRgb(canvas: Canvas, palette: Palette): Uint8Array {
  const bytes = new Uint8Array(canvas.tones.length * 3);
  for (const [index, tone] of canvas.tones.entries()) bytes.set(palette[tone] ?? [0, 0, 0], index * 3);
  return bytes;
}

/** A soft A major chord that swells and fades. Every part of it repeats after exactly one loop, which is a whole number of AAC packets. */
async function makeTone(): Promise<void> {
  const packets = 192;
  const loopS = (packets * 1024) / 48_000;
  const voices = [220, 277.18, 329.63, 440, 554.37].map((hertz, index) => ({ hertz: Math.round(hertz * loopS) / loopS, index }));
  const side = (shift: number) =>
    voices
      .map(({ hertz, index }) => {
        const swell = `(0.55+0.45*sin(2*PI*(t/${loopS}+${(index * 0.37 + shift).toFixed(2)})))`;
        return `${(0.075 / (1 + index * 0.35)).toFixed(4)}*${swell}*sin(2*PI*${hertz}*t)`;
      })
      .join("+");
  const loops = join(tmpdir(), "tone-loops.mp4");
  const encoder = spawn(
    "ffmpeg",
    ["-v", "error", "-y", "-f", "lavfi", "-i", `aevalsrc='${side(0)}|${side(0.25)}':s=48000:d=${loopS * 3}`].concat(
      `-c:a aac -profile:a aac_low -b:a 56k -map_metadata -1 -fflags +bitexact ${loops}`.split(" "),
    ),
    { stdio: "inherit" },
  );
  await waitForEnd(encoder);

  // Encodes three loops and takes the middle one: there the encoder has settled, and the end fits the beginning.
  const input = new Input({ source: new FilePathSource(loops), formats: [MP4] });
  const track = await input.getPrimaryAudioTrack();
  const decoderConfig = await track?.getDecoderConfig();
  if (!track || !decoderConfig) throw new Error("no sound in the encoded tone");
  const output = new Output({ format: new Mp4OutputFormat({ fastStart: "in-memory" }), target: new BufferTarget() });
  const source = new EncodedAudioPacketSource("aac");
  output.addAudioTrack(source);
  await output.start();
  let index = 0;
  for await (const packet of new EncodedPacketSink(track).packets()) {
    const place = index++ - packets;
    if (place < 0 || place >= packets) continue;
    await source.add(packet.clone({ timestamp: (place * 1024) / 48_000, duration: 1024 / 48_000 }), { decoderConfig });
  }
  await output.finalize();
  if (!output.target.buffer) throw new Error("nothing was written");
  writeFileSync(`${DATA}tone.mp4`, new Uint8Array(output.target.buffer));
  console.log("tone", output.target.buffer.byteLength);
}

/** The motifs of the images, painted over a whole canvas. All of them loop: `phase` 0 and 1 look the same. */

import { around, circle, fillShape, length, toTone, type Canvas } from "./canvas.ts";
import { between, integerBetween, type Random } from "./random.ts";

/** Paints every pixel; `phase` runs from 0 to 1 over one loop of a video and is 0 in an image. */
export type Scene = (canvas: Canvas, random: Random, phase: number) => void;

const TURN = Math.PI * 2;
const SINE_STEPS = 8192;
const SINE_STEPS_PER_RADIAN = SINE_STEPS / TURN;
const SINES = Float32Array.from({ length: SINE_STEPS }, (_, step) => Math.sin(step / SINE_STEPS_PER_RADIAN));

/** Hills or waves, one behind the other, in front of a low sun. */
export const ridges: Scene = (canvas, random, phase) => {
  const { width, height } = canvas;
  const short = Math.min(width, height);
  const horizon = between(random, 0.42, 0.6);
  const sun = {
    x: between(random, 0.22, 0.78) * width,
    y: height * (horizon - between(random, 0.06, 0.2)),
    radius: short * between(random, 0.09, 0.16),
  };
  const glow = short * 0.55;
  fillPixels(canvas, (x, y) => {
    const near = length(x - sun.x, y - sun.y) / glow;
    return 0.46 + 0.3 * (y / height / horizon) + 0.2 / (1 + near * near * 2.2);
  });
  fillShape(canvas, around(sun.x, sun.y, sun.radius), circle(sun.x, sun.y, sun.radius), () => 255);

  const layers = integerBetween(random, 5, 7);
  for (let layer = 0; layer < layers; layer++) {
    const depth = (layer + 1) / layers;
    const base = height * (horizon + (1.02 - horizon) * (depth ** 1.25 * 0.86));
    const waves = Array.from({ length: 4 }, (_, octave) => ({
      size: (short * between(random, 0.055, 0.085) * (0.45 + depth * 0.6)) / 1.9 ** octave,
      turns: between(random, 0.5, 0.85) * (width / short) * 1.8 ** octave,
      start: random(),
    }));
    // Each ridge sways a little later than the one behind it.
    const sway = 0.07 * Math.sin(TURN * (phase + depth * 0.6));
    const tops = Float32Array.from({ length: width }, (_, x) =>
      waves.reduce(
        (y, { size, turns, start }) => y - size * Math.sin(TURN * ((turns * x) / width + start + sway)),
        base - sway * short * 0.12,
      ),
    );
    const tone = 0.74 * (1 - depth) ** 1.1 + 0.05;
    for (let x = 0; x < width; x++) {
      const top = tops[x] ?? base;
      for (let y = Math.max(0, Math.floor(top - 1)); y < height; y++) {
        const cover = Math.min(1, y + 1 - top);
        if (cover <= 0) continue;
        // Mist is denser towards the foot of each ridge.
        const above = toTone(tone + 0.13 * Math.min(1, (y - top) / (short * 0.28)) * (1 - depth * 0.75));
        const at = y * width + x;
        const below = canvas.tones[at] ?? 0;
        canvas.tones[at] = below + (above - below) * cover;
      }
    }
  }
};

/** Translucent balls of light over a soft slope. */
export const orbs: Scene = (canvas, random, phase) => {
  const { width, height } = canvas;
  const short = Math.min(width, height);
  const angle = random() * TURN;
  const [slopeX, slopeY] = [Math.cos(angle) / width, Math.sin(angle) / height];
  fillPixels(canvas, (x, y) => 0.36 + 0.42 * ((x - width / 2) * slopeX + (y - height / 2) * slopeY) * 1.2);
  const count = integerBetween(random, 7, 11);
  for (let index = 0; index < count; index++) {
    const radius = short * between(random, 0.07, 0.3) * (1 - (index / count) * 0.5);
    const swing = short * between(random, 0.02, 0.05);
    const start = random();
    const x = between(random, 0.05, 0.95) * width + swing * Math.cos(TURN * (start + phase));
    const y = between(random, 0.05, 0.95) * height + swing * Math.sin(TURN * (start + phase));
    const light = random() < 0.6 ? between(random, 0.72, 1) : between(random, 0.02, 0.2);
    const lit = random() * TURN;
    const [litX, litY] = [Math.cos(lit) / radius, Math.sin(lit) / radius];
    fillShape(canvas, around(x, y, radius * 1.5), circle(x, y, radius * 1.5), (below, px, py) => {
      const fall = Math.max(0, 1 - length(px - x, py - y) / (radius * 1.5));
      return below * (1 - 0.24 * fall * fall);
    });
    fillShape(canvas, around(x, y, radius), circle(x, y, radius), (below, px, py) => {
      const side = (px - x) * litX + (py - y) * litY;
      return below + (toTone(light) - below) * (0.52 + 0.44 * side);
    });
  }
};

/** Sheets of cut paper, each with the shadow of the next one on it. */
const sheets: Scene = (canvas, random, phase) => {
  const { width, height } = canvas;
  const short = Math.min(width, height);
  const angle = between(random, -0.7, 0.7);
  const [alongX, alongY] = [Math.cos(angle) / short, Math.sin(angle) / short];
  const count = integerBetween(random, 6, 9);
  const bends = Array.from({ length: 3 }, (_, index) => ({
    size: between(random, 0.05, 0.12) / (index + 1),
    turns: between(random, 0.5, 0.9) * (index + 1) * TURN,
    start: random() * TURN,
  }));
  const upward = random() < 0.5;
  const span = (width * Math.abs(Math.sin(angle)) + height * Math.cos(angle)) / short;
  const sheet = span / count;
  const toneAt = (of: number) => 0.1 + 0.84 * Math.min(1, Math.max(0, (upward ? count - of : of) / count));
  fillPixels(canvas, (x, y) => {
    const along = (x - width / 2) * alongX + (y - height / 2) * alongY;
    const across = (y - height / 2) * alongX - (x - width / 2) * alongY + span / 2;
    let position = across / sheet;
    for (const { size, turns, start } of bends) position += (size / sheet) * sine(along * turns + start + TURN * phase);
    const index = Math.floor(position);
    const inside = position - index;
    const shade = Math.max(0, 1 - inside * 2.2);
    const own = toneAt(index) * (1 - 0.3 * shade * shade) + 0.05 * inside;
    const edge = inside * sheet * short - 0.5;
    return edge >= 0.5 ? own : toneAt(index - 1) + 0.05 + (own - toneAt(index - 1) - 0.05) * Math.max(0, edge + 0.5);
  });
};

/** Slow folds of light, like silk or a northern sky. */
export const folds: Scene = (canvas, random, phase) => {
  const { width, height } = canvas;
  const zoom = between(random, 1.5, 2.3) / Math.min(width, height);
  const angle = random() * TURN;
  const [cos, sin] = [Math.cos(angle) * zoom, Math.sin(angle) * zoom];
  const [a, b, c] = [random() * TURN, random() * TURN, random() * TURN];
  const turn = TURN * phase;
  const strength = between(random, 1.3, 2.1);
  fillPixels(canvas, (x, y) => {
    const u = x * cos + y * sin;
    const v = y * cos - x * sin;
    const p = u * 2 + strength * sine(v * 2.1 + a + turn);
    const q = v * 1.6 + strength * sine(p * 0.9 + b);
    const value = sine(p + 1.3 * sine(q + c + turn));
    const gleam = Math.max(0, sine(q * 1.5 + value * 2 + TURN / 4));
    return 0.42 + 0.34 * value + 0.22 * gleam * gleam * gleam;
  });
};

/** The motifs of images. */
export const SCENES: readonly Scene[] = [ridges, orbs, sheets, folds];

/** A sine from a table: exact to one tone, and several times faster than `Math.sin` for every pixel of a large image. */
function sine(angle: number): number {
  return SINES[Math.round(angle * SINE_STEPS_PER_RADIAN) & (SINE_STEPS - 1)] ?? 0;
}

function fillPixels(canvas: Canvas, value: (x: number, y: number) => number): void {
  const { width, height, tones } = canvas;
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) tones[y * width + x] = toTone(value(x, y));
  }
}

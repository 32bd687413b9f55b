/** The images' colours: hand-picked ramps from dark to light, mixed in a colour space with perceptually even steps. */

import { pick, type Random } from "./random.ts";

/** 256 colours `[red, green, blue]`, 0 to 255, from dark to light. */
export type Palette = [number, number, number][];

const RAMPS = [
  ["#1a1033", "#4b2a6b", "#b0476f", "#f28a5f", "#ffe9c4"],
  ["#05202e", "#0b4a5e", "#1e8a8f", "#7fcfb5", "#f6f5de"],
  ["#10211b", "#23503c", "#5d8a4c", "#c1cd72", "#fbf5d8"],
  ["#2a0f24", "#6a1f47", "#c44569", "#f3a683", "#fef1e4"],
  ["#0d1b3e", "#274690", "#5c7fc4", "#a8c8ee", "#f7fcff"],
  ["#1f0d10", "#5c1a24", "#b23a2f", "#f0803c", "#ffebc2"],
  ["#171738", "#3f3778", "#8470b8", "#cbb2e0", "#fdf3fa"],
  ["#0b2b26", "#16524a", "#3f9c82", "#9fdcb9", "#f6fff4"],
  ["#261c15", "#6b4a34", "#b98b5e", "#e6c99a", "#fdf7ea"],
  ["#14082e", "#4a1a8c", "#c02fa3", "#ff7b91", "#ffedbd"],
  ["#0a2239", "#1d5c70", "#4aa3a2", "#f2b48b", "#fff1e0"],
  ["#14181f", "#34455a", "#6f8494", "#dcbf6a", "#fff7dd"],
] as const;

/** Chooses a ramp at random. */
export function choosePalette(random: Random): Palette {
  return buildRamp(pick(random, RAMPS));
}

function buildRamp(stops: readonly string[]): Palette {
  const anchors = stops.map(toOklab);
  return Array.from({ length: 256 }, (_, index) => {
    const position = (index / 255) * (anchors.length - 1);
    const first = Math.min(Math.floor(position), anchors.length - 2);
    const [from, to] = [anchors[first], anchors[first + 1]];
    if (!from || !to) throw new RangeError("a ramp needs two colours or more");
    const mix = (channel: 0 | 1 | 2) => from[channel] + (to[channel] - from[channel]) * (position - first);
    return fromOklab([mix(0), mix(1), mix(2)]);
  });
}

type Triple = [number, number, number];

// OKLab (Björn Ottosson, 2020): mixing in it keeps hues clean where RGB turns them grey.
function toOklab(hex: string): Triple {
  const channel = (at: number) => linear(parseInt(hex.slice(at, at + 2), 16) / 255);
  const [r, g, b] = [channel(1), channel(3), channel(5)];
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

function fromOklab([lightness, a, b]: Triple): Triple {
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    byte(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    byte(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    byte(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ];
}

/** A channel of linear light, 0 to 1, as the byte of a file. */
function byte(value: number): number {
  return Math.round(Math.min(1, Math.max(0, encoded(value))) * 255);
}

function linear(value: number): number {
  return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
}

function encoded(value: number): number {
  return value <= 0.0031308 ? value * 12.92 : 1.055 * value ** (1 / 2.4) - 0.055;
}

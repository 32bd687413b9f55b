/** A drawn portrait of a character: a seeded, generic face in the tones of one palette. */

import { around, circle, createCanvas, ellipse, fillShape, roundedBox, toTone, type Box, type Canvas, type Distance } from "./canvas.ts";
import type { Font } from "./glyphs.ts";
import { choosePalette, type Palette } from "./palette.ts";
import { drawWords } from "./image.ts";
import { between, pick, randomFrom, type Random } from "./random.ts";
import { folds, orbs } from "./scenes.ts";

/** Width and height in pixels. */
export const PORTRAIT_SIZE = 512;

interface Face {
  x: number;
  y: number;
  radiusX: number;
  radiusY: number;
}

/** Draws the portrait of a seed; the same seed gives the same portrait. */
export async function drawPortrait(font: Font, seed: readonly string[]): Promise<{ canvas: Canvas; palette: Palette }> {
  const random = await randomFrom(["portrait", ...seed]);
  const palette = choosePalette(random);
  const canvas = createCanvas(PORTRAIT_SIZE, PORTRAIT_SIZE);
  pick(random, [orbs, folds])(canvas, random, 0);
  const face: Face = { x: 256, y: 236, radiusX: between(random, 84, 98), radiusY: between(random, 104, 118) };
  const skin = between(random, 0.72, 0.92);
  const hair = between(random, 0.04, 0.24);
  const style = pick(random, ["short", "long", "round", "bun"] as const);
  fill(canvas, around(256, 250, 196), circle(256, 250, 196), between(random, 0.42, 0.58));
  drawHairBehind(canvas, face, style, hair);
  drawBody(canvas, random, skin);
  const head = ellipse(face.x, face.y, face.radiusX, face.radiusY);
  for (const side of [-1, 1])
    fill(
      canvas,
      around(face.x + side * face.radiusX, face.y + 8, 17, 24),
      ellipse(face.x + side * face.radiusX, face.y + 8, 17, 24),
      skin - 0.08,
    );
  fillShape(canvas, around(face.x, face.y, face.radiusX, face.radiusY), head, (_, x) =>
    toTone(skin - 0.1 * Math.max(0, (x - face.x) / face.radiusX)),
  );
  drawFringe(canvas, random, face, head, hair);
  drawFeatures(canvas, random, face, skin, hair);
  drawWords(canvas, font, ["sandbox"]);
  return { canvas, palette };
}

function drawHairBehind(canvas: Canvas, face: Face, style: "short" | "long" | "round" | "bun", tone: number): void {
  const crown = { y: face.y - 26, radiusX: face.radiusX + 13, radiusY: face.radiusY - 2 };
  fill(canvas, around(face.x, crown.y, crown.radiusX, crown.radiusY), ellipse(face.x, crown.y, crown.radiusX, crown.radiusY), tone);
  if (style === "long") {
    const fall: Box = { x: face.x - crown.radiusX - 8, y: face.y - 30, width: crown.radiusX * 2 + 16, height: 220 };
    fill(canvas, fall, roundedBox(fall, 56), tone);
  } else if (style === "round") {
    fill(canvas, around(face.x, face.y - 40, 136, 118), ellipse(face.x, face.y - 40, 136, 118), tone);
  } else if (style === "bun") {
    fill(canvas, around(face.x, face.y - face.radiusY - 26, 46), circle(face.x, face.y - face.radiusY - 26, 46), tone);
  }
}

function drawBody(canvas: Canvas, random: Random, skin: number): void {
  const cloth = pick(random, [0.3, 0.98, 0.2]);
  const shoulders: Box = { x: 96, y: 392, width: 320, height: 260 };
  fill(canvas, shoulders, roundedBox(shoulders, 96), cloth);
  const neck: Box = { x: 216, y: 300, width: 80, height: 128 };
  fillShape(canvas, neck, roundedBox(neck, 40), (_, __, y) => toTone(skin - 0.22 * Math.max(0, 1 - (y - 320) / 80)));
  if (random() < 0.5) {
    for (const y of [448, 484]) {
      const stripe: Box = { x: 96, y, width: 320, height: 14 };
      const [band, body] = [roundedBox(stripe, 0), roundedBox(shoulders, 96)];
      fill(canvas, stripe, (px, py) => Math.max(band(px, py), body(px, py)), cloth > 0.5 ? 0.6 : 0.7);
    }
  }
}

/** Hair over the forehead: the part of the head above a slanted, rounded line. */
function drawFringe(canvas: Canvas, random: Random, face: Face, head: Distance, tone: number): void {
  const parting = face.x + between(random, -34, 34);
  const drop = between(random, 60, 84);
  const hole = ellipse(parting, face.y + drop, face.radiusX * 1.25, face.radiusY * 1.02);
  const cut: Distance = (x, y) => Math.max(head(x, y) - 2, -hole(x, y));
  fill(canvas, around(face.x, face.y, face.radiusX + 3, face.radiusY + 3), (x, y) => (y > face.y + 20 ? 1 : cut(x, y)), tone);
}

function drawFeatures(canvas: Canvas, random: Random, face: Face, skin: number, hair: number): void {
  const gap = face.radiusX * between(random, 0.4, 0.46);
  const eyeY = face.y + 14;
  const look = between(random, -3, 3);
  const glasses = random() < 0.35;
  for (const side of [-1, 1]) {
    const x = face.x + side * gap;
    fill(canvas, around(x, eyeY, 15, 11), ellipse(x, eyeY, 15, 11), 1);
    fill(canvas, around(x + look, eyeY, 8.5), circle(x + look, eyeY, 8.5), 0.04);
    fill(canvas, around(x + look + 3, eyeY - 3, 2.6), circle(x + look + 3, eyeY - 3, 2.6), 1);
    const brow: Box = { x: x - 19, y: eyeY - 30, width: 38, height: 8 };
    fill(canvas, brow, roundedBox(brow, 4), hair);
    fill(canvas, around(x + side * 12, eyeY + 36, 17, 11), ellipse(x + side * 12, eyeY + 36, 17, 11), skin - 0.09);
    if (glasses) fill(canvas, around(x, eyeY, 31), (px, py) => Math.abs(circle(x, eyeY, 28)(px, py)) - 2.5, 0.08);
  }
  if (glasses) {
    const bridge: Box = { x: face.x - gap + 28, y: eyeY - 3, width: gap * 2 - 56, height: 5 };
    fill(canvas, bridge, roundedBox(bridge, 2), 0.08);
  }
  fill(canvas, around(face.x, eyeY + 30, 8, 12), ellipse(face.x, eyeY + 30, 8, 12), skin - 0.16);
  // A smile is the lower edge of a disc.
  const mouthY = face.y + face.radiusY * 0.5;
  const smile = between(random, 20, 30);
  const lips: Distance = (x, y) => Math.max(ellipse(face.x, mouthY, smile, 18)(x, y), -ellipse(face.x, mouthY - 10, smile * 1.5, 14)(x, y));
  fill(canvas, around(face.x, mouthY, smile, 20), lips, random() < 0.5 ? 0.1 : 1);
}

function fill(canvas: Canvas, bounds: Box, distance: Distance, tone: number): void {
  const byte = toTone(tone);
  fillShape(canvas, bounds, distance, () => byte);
}
